-- Makes one user follow another, in both directions, or repairs one direction
-- from the other. Repeating it changes nothing.
-- KEYS[1]   the users that the follower follows
-- KEYS[2]   the followers of the followed user
-- ARGV[1]   the id of the follower
-- ARGV[2]   the id of the followed
-- ARGV[3]   the time, for a new follow
-- Reply     1 when it was new, else 0
local since = redis.call('ZSCORE', KEYS[1], ARGV[2]) or redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('ZADD', KEYS[1], since or ARGV[3], ARGV[2])
redis.call('ZADD', KEYS[2], since or ARGV[3], ARGV[1])
return since and 0 or 1
