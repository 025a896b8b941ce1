-- Makes the second direction of a follow agree with the first.
-- KEYS[1]   the users that the follower follows
-- KEYS[2]   the followers of the followed user
-- ARGV[1]   the id of the follower
-- ARGV[2]   the id of the followed
-- Reply     1 when the two did not agree, else 0
local since = redis.call('ZSCORE', KEYS[1], ARGV[2])
local back = redis.call('ZSCORE', KEYS[2], ARGV[1])
if since == back then
  return 0
end
if since then
  redis.call('ZADD', KEYS[2], since, ARGV[1])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return 1
