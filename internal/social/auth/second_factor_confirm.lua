-- Turns the second factor on, with the key that was set up.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the field `totp_new`, as it was read
-- ARGV[2]   the key in that field
-- ARGV[3]   the time step of the code that confirms it
-- ARGV[4]   the hashes of the recovery codes, separated by commas
-- Reply     1, or 0 if the field has changed or the second factor is already on
if redis.call('HGET', KEYS[1], 'totp_new') ~= ARGV[1] or redis.call('HEXISTS', KEYS[1], 'totp') == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'totp', ARGV[2], 'totp_step', ARGV[3], 'recovery', ARGV[4])
redis.call('HDEL', KEYS[1], 'totp_new', 'code_tries')
return 1
