-- Sets a field of a user, provided that the user has, or does not have, a second factor.
-- KEYS[1]   the hash of the user
-- ARGV[1]   1 if the user must have one, 0 if not
-- ARGV[2]   the field
-- ARGV[3]   its value
-- Reply     1, or 0 if it was not set
if redis.call('HEXISTS', KEYS[1], 'username') == 0 or redis.call('HEXISTS', KEYS[1], 'totp') ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 1
