-- Replaces a stored password, unless it has changed since it was read.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the password as it was read
-- ARGV[2]   the new one
-- Reply     1 when it was replaced, else 0
if redis.call('HGET', KEYS[1], 'password') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'password', ARGV[2])
return 1
