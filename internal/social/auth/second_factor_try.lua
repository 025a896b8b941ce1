-- Counts an attempt to finish a log-in with a code, before the code is compared.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's log-ins waiting for a code
-- ARGV[1]   the SHA-256 of the log-in's secret, in hex
-- ARGV[2]   the time, in Unix seconds
-- ARGV[3]   how many tries a log-in has
-- ARGV[4]   how many tries an account has, over all log-ins
-- ARGV[5]   the period for ARGV[4], in seconds
-- Reply     the key of the app, the hashes of the recovery codes, and 1 if the account has
--           no tries left; nil if there is no such log-in
local now = tonumber(ARGV[2])
local ends, tries = string.match(redis.call('HGET', KEYS[2], ARGV[1]) or '', '^(%d+) (%d+)$')
local user = redis.call('HMGET', KEYS[1], 'totp', 'recovery', 'code_tries')
if not ends or now > tonumber(ends) or tonumber(tries) >= tonumber(ARGV[3]) or not user[1] then
  redis.call('HDEL', KEYS[2], ARGV[1])
  return false
end
-- A server that is out of memory refuses commands that need memory, unless the script
-- has already written. This write changes nothing and makes log-in possible on such a server.
redis.call('HDEL', KEYS[2], '')
redis.call('HSET', KEYS[2], ARGV[1], ends .. ' ' .. (tonumber(tries) + 1))
local count, since = string.match(user[3] or '', '^(%d+) (%d+)$')
if not count or now - tonumber(since) > tonumber(ARGV[5]) then
  count, since = '0', ARGV[2]
end
local blocked = '0'
if tonumber(count) >= tonumber(ARGV[4]) then
  blocked = '1'
else
  redis.call('HSET', KEYS[1], 'code_tries', (tonumber(count) + 1) .. ' ' .. since)
end
return {user[1], user[2] or '', blocked}
