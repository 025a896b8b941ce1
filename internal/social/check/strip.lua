-- Removes the texts of a deleted post.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the list of its earlier texts
-- Reply     1 when there was one, else 0
if redis.call('HEXISTS', KEYS[1], 'deleted') == 0 then
  return 0
end
return math.max(redis.call('HDEL', KEYS[1], 'body', 'edited'), redis.call('UNLINK', KEYS[2]))
