-- Reads the cached list of a prefix, or its terms. Preceded by declare.lua and topk.lua.
--
-- KEYS[1]  sorted set: the index
-- KEYS[2]  hash: its content
-- KEYS[3]  hash: its top-k cache
-- KEYS[4]  hash: its metadata
-- ARGV[1]  the prefix
--
-- Reply    {list, values of its members}, or {'', entries} without a list: all of them,
--          or SCAN_LIMIT + 1, which shows that a list is missing; and the values of the
--          entries, if the index has payloads

local list = redis.call('HGET', KEYS[3], ARGV[1])
if list then
	local parsed = parse(list)
	if not parsed.broken then
		return {list, lookup(KEYS[2], members(parsed, ARGV[1]))}
	end
end
local entries = redis.call('ZRANGEBYLEX', KEYS[1], from(ARGV[1]), to(ARGV[1]), 'LIMIT', 0, SCAN_LIMIT + 1)
if #entries == 0 or #entries > SCAN_LIMIT or redis.call('HEXISTS', KEYS[4], 'payloads') == 0 then
	return {'', entries}
end
local terms = {}
for i, member in ipairs(entries) do
	terms[i] = string.match(member, '^(.*):') or member
end
return {'', entries, lookup(KEYS[2], terms)}
