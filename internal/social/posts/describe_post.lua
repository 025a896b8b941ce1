-- Replaces the media field of a post. Idempotent.
-- KEYS[1]   the hash of the post
-- ARGV[1]   the media field as the caller has read it
-- ARGV[2]   the new media field
-- ARGV[3]   1 to show the pictures only after a click, else empty
-- Reply     1; 2 if the field has changed since; 0 if the post does not exist or is deleted
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
