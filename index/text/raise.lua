-- Notes that a partition has had so many generations, after its metadata were lost: so that
-- none of them is made again. Preceded by declare.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the highest generation that has keys
--
-- Reply        0

local _, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local made = tonumber(redis.call('HGET', KEYS[3], 'generations') or 0)
if made < tonumber(ARGV[4]) then
	redis.call('HSET', KEYS[3], 'generations', ARGV[4])
end
return 0
