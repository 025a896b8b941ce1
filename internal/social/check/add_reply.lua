-- Adds a reply to the replies of its parent, and updates the reply count of the parent.
-- KEYS[1]   the hash of the parent
-- KEYS[2]   the set of replies to the parent
-- ARGV[1]   the id of the reply
-- Reply     1 if the reply was added, else 0
if redis.call('HEXISTS', KEYS[1], 'user_id') == 0 then
  return 0
end
local added = redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'replies', redis.call('SCARD', KEYS[2]))
return added
