-- Raises a counter to a minimum.
-- KEYS[1]   the counter
-- ARGV[1]   its minimum, up to 2^53
-- Reply     1, or 0 if the counter does not hold a number
local current = tonumber(redis.call('GET', KEYS[1]) or '0')
if not current then
  return 0
end
if current < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1])
end
return 1
