-- Mutes or blocks a user. Idempotent; a different end replaces the previous one.
-- KEYS[1]   the users whom a user has muted or blocked, scored by the time at which this ends
-- ARGV[1]   the id of the other user
-- ARGV[2]   the end, or +inf for no end
-- ARGV[3]   the current time
-- ARGV[4]   the maximum size of the set
-- Reply     1, or 0 if the set is full
remove_ended(KEYS[1], ARGV[3])
if redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[3], '+inf') >= tonumber(ARGV[4])
  and not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 1
