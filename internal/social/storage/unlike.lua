-- Removes a like. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the users who like the post
-- KEYS[3]   the posts that the user likes; omitted on a Cluster
-- KEYS[4]   the posts that were liked this week; omitted on a Cluster
-- ARGV[1]   the id of the user
-- ARGV[2]   the id of the post
-- ARGV[3]   the start of the week
-- Reply     the time of the like, or nil if it did not exist
local since = redis.call('ZSCORE', KEYS[2], ARGV[1])
if since then
  redis.call('ZREM', KEYS[2], ARGV[1])
end
if since and redis.call('HEXISTS', KEYS[1], 'user_id') == 1 then
  redis.call('HSET', KEYS[1], 'likes', redis.call('ZCARD', KEYS[2]))
end
if KEYS[3] then
  redis.call('ZREM', KEYS[3], ARGV[2])
end
if KEYS[4] then -- a key of the wrong type must not prevent an unlike
  local left = redis.call('ZCOUNT', KEYS[2], ARGV[3], '+inf')
  if left == 0 then
    redis.pcall('ZREM', KEYS[4], ARGV[2])
  else
    redis.pcall('ZADD', KEYS[4], 'XX', left, ARGV[2])
  end
end
return since
