-- Deletes a post, so that nobody can read its text any more. A stub remains for good and marks
-- its place; until its words have left the search index, its text remains in another field, with
-- its earlier texts. Repeating it changes nothing.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the list of its earlier texts
-- KEYS[3]   the users who like it
-- KEYS[4]   the users who have reposted it
-- ARGV[1]   the time now
-- ARGV[2]   the text as the caller has read it
-- ARGV[3]   how many earlier texts there were
-- ARGV[4]   the tags of all of these texts, separated by spaces
-- Reply     1 if this call deleted the post, and how many of the last two keys exist: a
--           deleted post gets no more likes or reposts; 2 if its text has changed, or it
--           was already deleted; 0 if there is no such post
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
