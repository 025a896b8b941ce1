-- Reads the cached list of a prefix, or its terms. Preceded by declare.lua, value.lua and
-- topk.lua.
--
-- KEYS[1]  sorted set: the index
-- KEYS[2]  hash: its content
-- KEYS[3]  hash: its top-k cache
-- KEYS[4]  hash: its metadata
-- ARGV[1]  the prefix
-- ARGV[2]  the half-life in microseconds; empty: none
--
-- Reply    {list, values of its members, {}, time} or, without a list, {'', entries, values,
--          time}: all entries, or SCAN_LIMIT + 1 of them if a list is missing. The
--          values are {} in an index without payloads. The time is in half-lives since 1970

local prefix, now = ARGV[1], halfLives(ARGV[2])
now = now and text(now) or '0'
local list = redis.call('HGET', KEYS[3], prefix)
list = list and parse(list)
if list and not list.lost then
	return {list.text, lookup(KEYS[2], members(list, prefix)), {}, now}
end
local entries = redis.call('ZRANGEBYLEX', KEYS[1], from(prefix), to(prefix), 'LIMIT', 0, SCAN_LIMIT + 1)
if #entries > SCAN_LIMIT then
	return {'', entries, {}, now}
elseif #entries > CACHE_ABOVE then
	-- The list was lost, or no writer has stored it yet. If the server refuses writes, the
	-- reply is the same, but the list is not stored.
	keep(KEYS[3], prefix, ranked(entries, prefix), redis.pcall)
end
return {'', entries, payloadsOf(KEYS[2], KEYS[4], entries), now}
