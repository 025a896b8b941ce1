-- Replaces the text of a post and keeps the earlier text. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the list of earlier texts, latest first
-- ARGV[1]   the new text
-- ARGV[2]   the current time
-- ARGV[3]   the maximum number of earlier texts
-- Reply     1 if the post has the text; 2 if the post already has the maximum number of earlier
--           texts; 0 if the post does not exist or is deleted
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted', 'body')
if not post[1] or post[2] then
  return 0
end
if post[3] == ARGV[1] then
  return 1
end
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[3]) then
  return 2
end
redis.call('LPUSH', KEYS[2], ARGV[2] .. ' ' .. (post[3] or ''))
redis.call('HSET', KEYS[1], 'body', ARGV[1], 'edited', ARGV[2])
return 1
