-- Replaces the media field of a post. Repeating it changes nothing.
-- KEYS[1]   the hash of the post
-- ARGV[1]   its pictures, as the caller has read them
-- ARGV[2]   the new ones
-- ARGV[3]   1 to show them only after a click, else empty
-- Reply     1; 2 if its pictures have changed since; 0 if there is no such post, or it is deleted
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted', 'media')
if not post[1] or post[2] then
  return 0
end
if post[3] ~= ARGV[1] and post[3] ~= ARGV[2] then
  return 2
end
redis.call('HSET', KEYS[1], 'media', ARGV[2])
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], 'sensitive')
else
  redis.call('HSET', KEYS[1], 'sensitive', ARGV[3])
end
return 1
