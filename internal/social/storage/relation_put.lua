-- Mutes or blocks a user. Repeating it changes nothing; another end replaces the
-- former one.
-- KEYS[1]   the users that a user has muted, or blocked, scored by the end
-- KEYS[2]   the users who have blocked the other one; not passed for a mute, nor on a
--           Cluster, where it is in another slot
-- ARGV[1]   the id of the user
-- ARGV[2]   the id of the other one
-- ARGV[3]   the end, +inf for none
-- ARGV[4]   the time
-- ARGV[5]   how many the first set may hold
-- Reply     1, or 0 when the set is full
remove_ended(KEYS[1], ARGV[4])
if redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[4], '+inf') >= tonumber(ARGV[5])
  and not redis.call('ZSCORE', KEYS[1], ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
if KEYS[2] then
  remove_ended(KEYS[2], ARGV[4])
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
end
return 1
