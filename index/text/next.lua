-- Starts the next generation of a partition, for a rebuild: from now on writers change the
-- current and the next generation. Preceded by declare.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the name of the rebuild
--
-- Reply        {current generation, next generation}

local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local current = redis.call('HGET', KEYS[3], 'generation') or '0'
local next = string.format('%.0f', redis.call('HINCRBY', KEYS[3], 'generations', 1))
redis.call('UNLINK', KEYS[4]) -- the list of words of a killed rebuild
redis.call('HSET', KEYS[3], 'next', next)
return {current, next}
