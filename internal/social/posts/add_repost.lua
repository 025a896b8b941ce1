-- Adds a user's repost to a post. Each user has at most one repost of a post. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the sorted set of users who have reposted the post, scored by the id of the repost
-- ARGV[1]   the id of the user
-- ARGV[2]   the id of the repost
-- ARGV[3]   the id of an earlier repost to replace, or 0
-- Reply     the id of the user's repost, which is not ARGV[2] if the user already had another
--           one; 0 if the post does not exist or is deleted
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted')
if not post[1] or post[2] then
  return 0
end
local current = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0)
if current ~= 0 and current ~= tonumber(ARGV[3]) then
  return current
end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
redis.call('HSET', KEYS[1], 'reposts', redis.call('ZCARD', KEYS[2]))
return tonumber(ARGV[2])
