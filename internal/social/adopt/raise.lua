-- Raises a counter, never lowers it.
-- KEYS[1]   the counter
-- ARGV[1]   its minimum, up to 2^53
-- Reply     1, or 0 if it is not a number
local now = tonumber(redis.call('GET', KEYS[1]) or '0')
if not now then
  return 0
end
if now < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[1])
end
return 1
