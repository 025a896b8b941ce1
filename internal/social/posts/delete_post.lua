-- Deletes a post, so that nobody can read its text any more. A stub remains in place of the post.
-- Until the words of the post have been removed from the search index, the text remains in another
-- field, and the earlier texts remain in their list. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the list of earlier texts
-- KEYS[3]   the users who like the post
-- KEYS[4]   the users who have reposted the post
-- ARGV[1]   the current time
-- ARGV[2]   the text as the caller has read it
-- ARGV[3]   the number of earlier texts that the caller has read
-- ARGV[4]   the tags of all these texts, separated by spaces
-- Reply     1 if this call deleted the post, and the number of existing keys among the last two,
--           because a deleted post gets no more likes or reposts; 2 if a text has changed or
--           the post was already deleted; 0 if the post does not exist
local post = redis.call('HMGET', KEYS[1], 'user_id', 'deleted', 'body')
if not post[1] then
  return {0}
end
if post[2] or (post[3] or '') ~= ARGV[2] or redis.call('LLEN', KEYS[2]) ~= tonumber(ARGV[3]) then
  return {2}
end
redis.call('HDEL', KEYS[1], 'body', 'edited')
redis.call('HSET', KEYS[1], 'deleted', ARGV[1])
if post[3] then
  redis.call('HSET', KEYS[1], 'deleted_body', post[3])
end
if ARGV[4] ~= '' then
  redis.call('HSET', KEYS[1], 'tags', ARGV[4])
end
return {1, redis.call('EXISTS', KEYS[3], KEYS[4])}
