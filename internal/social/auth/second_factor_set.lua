-- Sets a field of a user, if the user has, or does not have, a second factor.
-- KEYS[1]   the hash of the user
-- ARGV[1]   1 if the user must have a second factor, 0 if the user must not
-- ARGV[2]   the field
-- ARGV[3]   its value
-- Reply     1, or 0 if the field was not set
if redis.call('HEXISTS', KEYS[1], 'username') == 0 or redis.call('HEXISTS', KEYS[1], 'totp') ~= tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
return 1
