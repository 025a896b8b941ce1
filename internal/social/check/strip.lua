-- Removes the text of a deleted post. The earlier texts stay until the words of the post have been
-- removed from the search index.
-- KEYS[1]   the hash of the post
-- Reply     the number of removed fields
if redis.call('HEXISTS', KEYS[1], 'deleted') == 0 then
  return 0
end
return redis.call('HDEL', KEYS[1], 'body', 'edited')
