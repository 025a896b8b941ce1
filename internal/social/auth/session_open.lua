-- Adds a session to the user's list of sessions, newest first.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's sessions
-- ARGV[1]   the SHA-256 of the session's secret, in hex
-- ARGV[2]   the session's entry
-- ARGV[3]   how many sessions to keep
-- ARGV[4]   the time, in Unix seconds
-- ARGV[5]   after how many seconds without use a session ends
-- ARGV[6]   after how many seconds a session ends in any case
-- ARGV[7]   the expected stored password of the user; empty for any
-- Reply     the sessions that were dropped: expired ones, those over the limit, and a
--           secret in clear text as the original program stored it; nil if there is no
--           such user, or the password is different
local user = redis.call('HMGET', KEYS[1], 'username', 'password')
if not user[1] or ARGV[7] ~= '' and user[2] ~= ARGV[7] then
  return false
end
local now, idle, max_age = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local kept, dropped = {ARGV[1]}, {}
for _, token in ipairs(list()) do
  if #token == 64 and #kept < tonumber(ARGV[3]) and not expired(token, now, idle, max_age) then
    if token ~= ARGV[1] then
      kept[#kept + 1] = token
    end
  elseif token ~= ARGV[1] then
    dropped[#dropped + 1] = token
  end
end
-- A server that is out of memory refuses commands that need memory, unless the script
-- has already written. This write changes nothing and makes log-in possible on such a server.
redis.call('HDEL', KEYS[2], '')
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
store(kept)
return dropped
