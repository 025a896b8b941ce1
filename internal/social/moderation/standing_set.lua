-- Sets the standing of a user, which also decides a pending sign-up.
-- KEYS[1]   hash: the user
-- ARGV[1]   the standing, empty for good
-- ARGV[2]   the time, in Unix seconds
-- ARGV[3]   when the standing expires, empty for never
-- ARGV[4]   a message for the user, may be empty
-- ARGV[5]   the expected end of the former standing, empty for any
-- Reply     1, or 0 if there is no such user, the account is being deleted, or the former
--           standing is different
if redis.call('HEXISTS', KEYS[1], 'username') == 0 or redis.call('HGET', KEYS[1], 'standing') == 'closed' then
  return 0
end
if ARGV[5] ~= '' and redis.call('HGET', KEYS[1], 'standing_until') ~= ARGV[5] then
  return 0
end
redis.call('HDEL', KEYS[1], 'standing', 'standing_since', 'standing_until', 'standing_message', 'signup')
if ARGV[1] == '' then
  return 1
end
redis.call('HSET', KEYS[1], 'standing', ARGV[1], 'standing_since', ARGV[2])
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[1], 'standing_until', ARGV[3])
end
if ARGV[4] ~= '' then
  redis.call('HSET', KEYS[1], 'standing_message', ARGV[4])
end
return 1
