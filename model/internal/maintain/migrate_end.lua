-- Ends a Migrate in a partition: marks the indexes of the declaration as built, and deletes
-- other indexes.
--
-- KEYS 1 meta, then keys of indexes to delete
-- ARGV 1 digest of the declaration, 2 name of the migration, then the identities of the
--      indexes
-- Reply 1, even if another Migrate has ended the same migration, or 0 if another declaration is
-- in force or another migration has started

local meta = KEYS[1]
local digest, name = unpack(ARGV, 1, 2)
local found = redis.call('HMGET', meta, 'digest', 'walk')
if found[1] ~= digest or found[2] and found[2] ~= name then
	return 0
end
for i = 3, #ARGV do
	redis.call('HSET', meta, 'built:' .. ARGV[i], 1)
end
for i = 2, #KEYS do
	redis.call('UNLINK', KEYS[i])
end
redis.call('HDEL', meta, 'walk', 'older')
return 1
