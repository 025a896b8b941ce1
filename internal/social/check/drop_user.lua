-- Removes a user who never opened a session.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the username
-- Reply     1 if the user was removed, else 0
if redis.call('HGET', KEYS[1], 'username') ~= ARGV[1] or redis.call('HEXISTS', KEYS[1], 'auth') == 1 then
  return 0
end
return redis.call('DEL', KEYS[1])
