-- Removes a reply from the direct replies of a post. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the set of direct replies to the post
-- KEYS[3]   the set of deleted direct replies to the post that still have replies
-- ARGV[1]   the id of the reply
-- ARGV[2]   1 if the reply still has replies
-- Reply     1 if the post is deleted and has no replies left, else 0
redis.call('SREM', KEYS[2], ARGV[1])
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted')
if not post[1] then
  return 0
end
redis.call(ARGV[2] == '1' and 'SADD' or 'SREM', KEYS[3], ARGV[1])
local left = redis.call('SCARD', KEYS[2])
redis.call('HSET', KEYS[1], 'replies', left)
return post[2] and left == 0 and redis.call('EXISTS', KEYS[3]) == 0 and 1 or 0
