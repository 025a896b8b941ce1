-- Removes the stub of a deleted post. If the post has replies, a stub without data about the author
-- remains. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the set of replies to the post
-- KEYS[3]   the set of deleted replies to the post that have replies
-- ARGV[1]   the id of the author
-- Reply     1, or 0 if the post is not deleted or belongs to another author
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted')
if post[1] ~= ARGV[1] or not post[2] then
  return 0
end
if redis.call('EXISTS', KEYS[2], KEYS[3]) == 0 then
  return redis.call('DEL', KEYS[1])
end
redis.call('HDEL', KEYS[1], 'time', 'tags', 'repost_of', 'source')
redis.call('HSET', KEYS[1], 'user_id', '0')
return 1
