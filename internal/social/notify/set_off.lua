-- Sets the kinds of notifications that a user has turned off.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the names of the kinds, separated by commas; may be empty
-- Reply     1, or 0 if the user does not exist
if redis.call('HEXISTS', KEYS[1], 'username') == 0 then return 0 end
if ARGV[1] == '' then
  redis.call('HDEL', KEYS[1], 'notify_off')
else
  redis.call('HSET', KEYS[1], 'notify_off', ARGV[1])
end
return 1
