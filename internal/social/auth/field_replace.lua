-- Replaces a field of an existing user, unless it has changed since it was read.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the field
-- ARGV[2]   the value that was read; empty if there was none
-- ARGV[3]   the new value; empty to remove the field
-- Reply     1 if it was replaced, else 0
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] or redis.call('HEXISTS', KEYS[1], 'username') == 0 then
  return 0
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
