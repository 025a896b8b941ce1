-- Stores the declaration of a partition again, after its metadata were lost. Preceded by
-- declare.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the highest generation that has keys: the present one
--
-- Reply        0

local refusal = declared(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
redis.call('HSETNX', KEYS[3], 'generation', ARGV[4])
redis.call('HSETNX', KEYS[3], 'generations', ARGV[4])
return 0
