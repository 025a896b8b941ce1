-- Maps the name of a deleted account to 0, nobody, so that the name never becomes free again.
-- Idempotent.
-- KEYS[1]   the hash of usernames
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
