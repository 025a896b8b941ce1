-- Adds a reply to the direct replies of a post. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the set of direct replies to the post
-- ARGV[1]   the id of the reply
-- ARGV[2]   1 to refuse a new reply to a deleted post
-- Reply     0 if the reply was refused or the post does not exist; 1 if the post has the
--           reply; 2 if the post has the reply and is deleted
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted')
if not post[1] then
  return 0
end
if post[2] and ARGV[2] == '1' and redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 0 then
  return 0
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'replies', redis.call('SCARD', KEYS[2]))
return post[2] and 2 or 1
