-- Makes one user follow another: writes both directions, or repairs one direction from the other.
-- Idempotent.
-- KEYS[1]   the users that the follower follows
-- KEYS[2]   the followers of the followed user
-- KEYS[3]   the users that the follower has blocked, scored by the end of the block
-- KEYS[4]   the users that the followed user has blocked
-- ARGV[1]   the id of the follower
-- ARGV[2]   the id of the followed user
-- ARGV[3]   the current time
-- Reply     1 if the follow is new, 0 if it existed, -1 if either user blocks the other
for i, other in ipairs({ARGV[2], ARGV[1]}) do
  local ends = redis.call('ZSCORE', KEYS[2 + i], other)
  if ends and (ends == 'inf' or tonumber(ends) > tonumber(ARGV[3])) then
    return -1
  end
end
local since = redis.call('ZSCORE', KEYS[1], ARGV[2]) or redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('ZADD', KEYS[1], since or ARGV[3], ARGV[2])
redis.call('ZADD', KEYS[2], since or ARGV[3], ARGV[1])
return since and 0 or 1
