-- Uses up a code and ends the wait of a log-in.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's log-ins waiting for a code
-- ARGV[1]   the SHA-256 of the log-in's secret, in hex
-- ARGV[2]   the key of the app with which the code was compared
-- ARGV[3]   the time step of the code; empty for a recovery code
-- ARGV[4]   the SHA-256 of the recovery code, in hex
-- Reply     how many recovery codes are left; -1 if the code was used before, or the log-in
--           or the key has changed
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 or redis.call('HGET', KEYS[1], 'totp') ~= ARGV[2] then
  return -1
end
local left, found = {}, false
for hash in string.gmatch(redis.call('HGET', KEYS[1], 'recovery') or '', '[^,]+') do
  if ARGV[3] == '' and hash == ARGV[4] then
    found = true
  else
    left[#left + 1] = hash
  end
end
-- A server that is out of memory refuses commands that need memory, unless the script
-- has already written. This write changes nothing and makes log-in possible on such a server.
redis.call('HDEL', KEYS[2], '')
if ARGV[3] == '' then
  if not found then
    return -1
  end
  redis.call('HSET', KEYS[1], 'recovery', table.concat(left, ','))
else
  if tonumber(ARGV[3]) <= tonumber(redis.call('HGET', KEYS[1], 'totp_step') or '0') then
    return -1
  end
  redis.call('HSET', KEYS[1], 'totp_step', ARGV[3])
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], 'code_tries')
return #left
