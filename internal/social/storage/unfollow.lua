-- Ends a follow, in both directions. Repeating it changes nothing.
-- KEYS[1]   the users that the follower follows
-- KEYS[2]   the followers of the followed user
-- ARGV[1]   the id of the follower
-- ARGV[2]   the id of the followed
-- Reply     1 when there was one, else 0
local was = redis.call('ZREM', KEYS[1], ARGV[2])
return math.max(was, redis.call('ZREM', KEYS[2], ARGV[1]))
