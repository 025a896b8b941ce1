-- Starts the next generation of a partition, for a rebuild: from now on writers change both it
-- and the current one. Preceded by declare.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the name of the rebuild
--
-- Reply        {present generation, next generation}, which has no keys yet: a writer may
--              have listed words of the one that a killed rebuild was making

local ended = replaced(KEYS[3], ARGV[4])
if ended then
	return ended
end
local present = redis.call('HGET', KEYS[3], 'generation') or '0'
local next = string.format('%.0f', redis.call('HINCRBY', KEYS[3], 'generations', 1))
redis.call('UNLINK', KEYS[4])
redis.call('HSET', KEYS[3], 'next', next)
return {present, next}
