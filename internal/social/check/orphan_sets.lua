-- Removes a set or list of a post that does not exist.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the set or list
-- Reply     1 if the set or list was removed, else 0
if redis.call('HEXISTS', KEYS[1], 'user_id') == 1 then
  return 0
end
return redis.call('UNLINK', KEYS[2])
