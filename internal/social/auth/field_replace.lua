-- Replaces a field of a user who exists, unless it has changed since it was read.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the field
-- ARGV[2]   its value as it was read; empty where there was none
-- ARGV[3]   the new one; empty to remove it
-- Reply     1 when it was replaced, else 0
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] or redis.call('HEXISTS', KEYS[1], 'username') == 0 then
  return 0
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
