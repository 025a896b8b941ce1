-- Ends a follow, in both directions. Idempotent.
-- KEYS[1]   the users that the follower follows
-- KEYS[2]   the followers of the followed user
-- ARGV[1]   the id of the follower
-- ARGV[2]   the id of the followed user
-- Reply     the time of the follow, or nil if it did not exist
local since = redis.call('ZSCORE', KEYS[1], ARGV[2]) or redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[1])
return since
