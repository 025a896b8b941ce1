-- Adds a repost to a post, one for each user. Repeating it changes nothing.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the sorted set of the users who have reposted it, by the id of the repost
-- ARGV[1]   the id of the user
-- ARGV[2]   the id of the repost
-- ARGV[3]   the id of an earlier repost that it replaces; 0 for none
-- Reply     the id of the user's repost, which is another one when it was there
--           before; 0 when there is no such post, or it is deleted
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
