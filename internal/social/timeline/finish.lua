-- Completes a home timeline: 0 replaces the negative number at its end.
-- KEYS[1]  the list
-- ARGV[1]  the negative number that begin.lua returned
-- ARGV[2]  the time in seconds without a view after which the list expires
-- ARGV[3]  the length of a full list, which needs no 0
-- Reply    1; 0 if the list does not exist any more
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
if redis.call('LREM', KEYS[1], 0, ARGV[1]) > 0 and redis.call('LLEN', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('RPUSH', KEYS[1], '0')
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1
