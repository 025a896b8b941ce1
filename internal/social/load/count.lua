-- Writes the size of a set of a post to a field of the post.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the set
-- ARGV[1]   the command that returns the size of the set
-- ARGV[2]   the field
-- Reply     the size
local size = redis.call(ARGV[1], KEYS[2])
redis.call('HSET', KEYS[1], ARGV[2], size)
return size
