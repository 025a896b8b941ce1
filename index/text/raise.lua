-- Records the highest generation that a partition has had, so that no generation is reused, and
-- stores the declaration again if the metadata was lost. Preceded by declare.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the highest generation that has keys
--
-- Reply        0

local refusal = storeDeclaration(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local found = redis.call('HMGET', KEYS[3], 'generation', 'generations')
if not found[1] and not found[2] and ARGV[4] ~= '0' then
	redis.call('HSET', KEYS[3], 'generation', ARGV[4])
end
if tonumber(found[2] or 0) < tonumber(ARGV[4]) then
	redis.call('HSET', KEYS[3], 'generations', ARGV[4])
end
return 0
