-- Replaces the current generation of a partition by the next one, and removes the list of words
-- of the old generation, but no other keys. Preceded by declare.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the name of the rebuild
--
-- Reply        the ids of documents that could not be written to the next generation

local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local changed = redis.call('SMEMBERS', KEYS[6])
redis.call('UNLINK', KEYS[1], KEYS[6]) -- RENAME would free a large key in this step
if redis.call('EXISTS', KEYS[4]) == 1 then
	redis.call('RENAME', KEYS[4], KEYS[1])
end
redis.call('HSET', KEYS[3], 'generation', redis.call('HGET', KEYS[3], 'next'))
redis.call('HDEL', KEYS[3], 'next', 'rebuild', 'until')
return changed
