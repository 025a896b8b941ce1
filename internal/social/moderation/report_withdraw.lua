-- Removes the report of a person, and the case where it was the only one.
-- KEYS[1]   hash: the case
-- KEYS[2]   sorted set: the targets of open cases
-- ARGV[1]   the target
-- ARGV[2]   the person
-- Reply     how many reports are left
redis.call('HDEL', KEYS[1], 'by:' .. ARGV[2])
local left = redis.call('HLEN', KEYS[1]) - 1
if left <= 0 then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return left
