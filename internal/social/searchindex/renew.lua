-- Prolongs a lease that is not over. Redis 6.2 does not know EXPIRE with XX.
-- KEYS[1]   the key, which expires while there is a lease
-- ARGV[1]   seconds from now
-- Reply     1, or 0 where the key does not expire, or there is none
if redis.call('TTL', KEYS[1]) < 0 then
  return 0
end
return redis.call('EXPIRE', KEYS[1], ARGV[1])
