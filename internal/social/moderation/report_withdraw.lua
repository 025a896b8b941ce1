-- Removes a person's report from a case, and the case if no report is left, or if the case is
-- about the person.
-- KEYS[1]   hash: the case; see report_add.lua
-- KEYS[2]   sorted set: the targets of open cases
-- ARGV[1]   the target
-- ARGV[2]   the person
-- Reply     how many reports are left
redis.call('HDEL', KEYS[1], 'by:' .. ARGV[2])
local left = redis.call('HLEN', KEYS[1]) - 3
if left <= 0 or redis.call('HGET', KEYS[1], 'about') == ARGV[2] then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  return 0
end
return left
