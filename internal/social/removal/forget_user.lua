-- Deletes the hash of a closed account. Repeating it changes nothing.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the username
-- ARGV[2]   when the user registered, empty if unknown
-- Reply     1 if the hash was deleted, else 0
local user = redis.call('HMGET', KEYS[1], 'username', 'joined')
if user[1] ~= ARGV[1] or (user[2] or '') ~= ARGV[2] then
  return 0
end
return redis.call('DEL', KEYS[1])
