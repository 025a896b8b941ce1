-- Returns an id for a new post, or the post that a text has got already.
-- KEYS[1]   the counter of posts
-- KEYS[2]   string: the post that has the text, `<id> <time>`; it expires. Missing for a post that
--           is no repetition
-- ARGV[1]   the largest id that the caller has seen: a counter below it fell back with a server
--           that lost writes
-- ARGV[2]   how far it can have fallen back
-- ARGV[3]   the time of a new post
-- ARGV[4]   a post that does not count: its text is another one by now, or empty
-- ARGV[5]   for how long the post has the text, in milliseconds
-- Reply     the post, `<id> <time>`, and 1 when the id is new
local has = KEYS[2] and redis.call('GET', KEYS[2])
if has and has ~= ARGV[4] then
  return {has, '0'}
end
local id = redis.call('INCR', KEYS[1])
local behind = ARGV[1] - id
if behind >= 0 and behind <= tonumber(ARGV[2]) then
  id = redis.call('INCRBY', KEYS[1], behind + 1)
end
local post = string.format('%.0f ', id) .. ARGV[3]
if KEYS[2] then
  redis.call('SET', KEYS[2], post, 'PX', ARGV[5])
end
return {post, '1'}
