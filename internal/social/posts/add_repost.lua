-- Adds a user's repost to a post; each user has at most one. Repeating it changes nothing.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the sorted set of users who have reposted it, scored by the id of the repost
-- ARGV[1]   the id of the user
-- ARGV[2]   the id of the repost
-- ARGV[3]   the id of an earlier repost that it replaces, or 0
-- Reply     the id of the user's repost, which is a different one if the user already had one;
--           0 if the post does not exist or is deleted
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted')
if not post[1] or post[2] then
  return 0
end
local has = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or 0)
if has ~= 0 and has ~= tonumber(ARGV[3]) then
  return has
end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
redis.call('HSET', KEYS[1], 'reposts', redis.call('ZCARD', KEYS[2]))
return tonumber(ARGV[2])
