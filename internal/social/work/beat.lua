-- Records that a process serves the site.
-- KEYS[1]   the processes, by the latest heartbeat
-- ARGV[1]   the process
-- ARGV[2]   the lifetime of a heartbeat in milliseconds; 0 if the process ends
-- Reply     the number of processes
first_write(KEYS[1])
local t = redis.call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  return redis.call('ZCARD', KEYS[1])
end
redis.call('ZADD', KEYS[1], int(ms), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. int(ms - ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])
