-- Makes the name of a deleted account lead to nobody, so that it is never free again.
-- Repeating it changes nothing.
-- KEYS[1]   the usernames
-- ARGV[1]   the id of the user
-- ARGV[2]   the name in lower case
-- ARGV[3]   the name as it was typed
-- Reply     1, or 0 if the name belongs to another user
local owner = redis.call('HGET', KEYS[1], ARGV[2])
if redis.call('HGET', KEYS[1], ARGV[3]) == ARGV[1] then
  redis.call('HSET', KEYS[1], ARGV[3], '0')
end
if owner and owner ~= ARGV[1] and owner ~= '0' then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[2], '0')
return 1
