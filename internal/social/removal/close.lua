-- Closes an account: hides it from everybody, and prevents log-ins. Repeating it changes
-- nothing.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the username
-- ARGV[2]   when the user registered, empty if unknown
-- ARGV[3]   the time now
-- ARGV[4..] the fields to remove immediately
-- Reply     nil if there is no such user; else the time at which the account was closed,
--           and the display name
local user = redis.call('HMGET', KEYS[1], 'username', 'joined', 'closed', 'display_name')
if user[1] ~= ARGV[1] or (user[2] or '') ~= ARGV[2] then
  return nil
end
redis.call('HSET', KEYS[1], 'standing', 'closed')
redis.call('HSETNX', KEYS[1], 'closed', ARGV[3])
redis.call('HDEL', KEYS[1], unpack(ARGV, 4))
return {user[3] or ARGV[3], user[4] or ''}
