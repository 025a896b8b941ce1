-- Removes the lowest entries of a sorted set that has too many, at most a thousand.
-- KEYS[1]   the sorted set
-- ARGV[1]   how many to keep
-- Reply     how many were removed
local over = math.min(redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[1]), 1000)
if over <= 0 then
  return 0
end
return redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1)
