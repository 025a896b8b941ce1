-- Replaces the active accounts.
-- KEYS[1]   sorted set: the active accounts
-- ARGV      score, user id, score, user id ...; empty if there are no active accounts
-- Reply     the number of active accounts
redis.call('DEL', KEYS[1])
if #ARGV == 0 then
  return 0
end
return redis.call('ZADD', KEYS[1], unpack(ARGV))
