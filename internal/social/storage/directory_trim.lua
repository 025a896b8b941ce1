-- Removes the lowest members of a sorted set that is too large, at most a thousand at a time.
-- KEYS[1]   the sorted set
-- ARGV[1]   the number of members to keep
-- Reply     the number of removed members
local over = math.min(redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[1]), 1000)
if over <= 0 then
  return 0
end
return redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1)
