-- Makes a log-in wait for a code. Removes log-ins that have waited too long, and the
-- oldest one if too many are waiting.
-- KEYS[1]   the hash of the user's log-ins waiting for a code
-- KEYS[2]   the hash of the user
-- ARGV[1]   the SHA-256 of the log-in's secret, in hex
-- ARGV[2]   the time, in Unix seconds
-- ARGV[3]   how many seconds the log-in waits
-- ARGV[4]   how many log-ins can wait
-- ARGV[5]   the expected stored password of the user
-- Reply     1, or 0 if the password is different
if redis.call('HGET', KEYS[2], 'password') ~= ARGV[5] then
  return 0
end
local now, count, oldest, earliest = tonumber(ARGV[2]), 0, nil, nil
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local ends = tonumber(string.match(all[i + 1], '^%d+') or '0')
  if ends < now then
    redis.call('HDEL', KEYS[1], all[i])
  else
    count = count + 1
    if not earliest or ends < earliest then
      oldest, earliest = all[i], ends
    end
  end
end
if count >= tonumber(ARGV[4]) then
  redis.call('HDEL', KEYS[1], oldest)
end
-- A server that is out of memory refuses commands that need memory, unless the script
-- has already written. This write changes nothing and makes log-in possible on such a server.
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d 0', now + tonumber(ARGV[3])))
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
