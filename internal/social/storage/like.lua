-- Likes a post. Idempotent; a repetition repairs liked:<uid>.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the users who like the post
-- KEYS[3]   the posts that the user likes; omitted on a Cluster, where the key is in another slot
-- KEYS[4]   the posts that were liked this week; omitted on a Cluster
-- ARGV[1]   the id of the user
-- ARGV[2]   the id of the post
-- ARGV[3]   the start of the week
-- ARGV[4]   the maximum number of posts in KEYS[4]
-- ARGV[5]   the expiry of KEYS[4] in seconds
-- ARGV[6]   the time of a new like
-- Reply     1 if the like is new, 0 if it existed, -1 if the post does not exist, is deleted,
--           is a repost, or is a hidden post of another user
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted', 'repost_of', 'hidden')
if not post[1] or post[2] or post[3] or post[4] and post[1] ~= ARGV[1] then
  return -1
end
local new = redis.call('ZADD', KEYS[2], 'NX', ARGV[6], ARGV[1])
local since = ARGV[6]
if new == 1 then
  redis.call('HSET', KEYS[1], 'likes', redis.call('ZCARD', KEYS[2]))
else
  since = redis.call('ZSCORE', KEYS[2], ARGV[1])
end
if KEYS[3] then
  redis.call('ZADD', KEYS[3], since, ARGV[2])
end
if KEYS[4] then -- a key of the wrong type must not prevent a like
  redis.pcall('ZADD', KEYS[4], redis.call('ZCOUNT', KEYS[2], ARGV[3], '+inf'), ARGV[2])
  redis.pcall('ZREMRANGEBYRANK', KEYS[4], 0, -1 - ARGV[4])
  redis.pcall('EXPIRE', KEYS[4], ARGV[5])
end
return new
