-- Sets a password, ends every session of the user and every log-in waiting for a code, and
-- opens one session.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's sessions
-- KEYS[3]   the hash of the user's log-ins waiting for a code
-- ARGV[1]   the field that must not have changed: `password` or `reset`
-- ARGV[2]   the expected value of that field
-- ARGV[3]   the hash of the new password
-- ARGV[4]   the SHA-256 of the new session's secret, in hex; empty for no session
-- ARGV[5]   the new session's entry
-- Reply     the sessions that have ended; nil if the field has changed
if ARGV[2] == '' or redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return false
end
local ended = {}
for _, token in ipairs(list()) do
  if token ~= ARGV[4] then
    ended[#ended + 1] = token
  end
end
redis.call('HSET', KEYS[1], 'password', ARGV[3])
redis.call('HDEL', KEYS[1], 'reset')
redis.call('DEL', KEYS[2], KEYS[3])
if ARGV[4] == '' then
  redis.call('HDEL', KEYS[1], 'auth')
else
  redis.call('HSET', KEYS[1], 'auth', ARGV[4])
  redis.call('HSET', KEYS[2], ARGV[4], ARGV[5])
end
return ended
