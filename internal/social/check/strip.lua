-- Removes the text of a deleted post. Its earlier texts stay until its words have left the
-- search index.
-- KEYS[1]   the hash of the post
-- Reply     1 if it had a text, else 0
if redis.call('HEXISTS', KEYS[1], 'deleted') == 0 then
  return 0
end
return redis.call('HDEL', KEYS[1], 'body', 'edited')
