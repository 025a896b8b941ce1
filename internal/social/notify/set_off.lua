-- Sets which kinds of notifications a user has turned off.
-- KEYS[1]   the user
-- ARGV[1]   the names of the kinds, separated by commas; may be empty
-- Reply     1, or 0 if there is no such user
if redis.call('HEXISTS', KEYS[1], 'username') == 0 then return 0 end
if ARGV[1] == '' then
  redis.call('HDEL', KEYS[1], 'notify_off')
else
  redis.call('HSET', KEYS[1], 'notify_off', ARGV[1])
end
return 1
