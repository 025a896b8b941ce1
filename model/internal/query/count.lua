-- Counts the entries of an index, or all records, unless there are expired ones among
-- them. Preceded by entries.lua.
--
-- KEYS 1 expires, 2 meta, 3 an index, or all records
-- ARGV 1 so many names in meta of indexes that must be built, then these; then ends of
--      ranges for ZLEXCOUNT; none: all
-- Reply the number, AGAIN if something has expired, or SCHEMA

local expires, meta, key = unpack(KEYS)
local names = tonumber(ARGV[1])
for i = 2, names + 1 do
	if redis.call('HEXISTS', meta, ARGV[i]) == 0 then
		return 'SCHEMA'
	end
end
if #redis.call('ZRANGEBYSCORE', expires, '-inf', now(), 'LIMIT', 0, 1) > 0 then
	return 'AGAIN'
end
if #ARGV == names + 1 then
	return redis.call('ZCARD', key)
end
local total = 0
for i = names + 2, #ARGV, 2 do
	total = total + redis.call('ZLEXCOUNT', key, ARGV[i], ARGV[i + 1])
end
return total
