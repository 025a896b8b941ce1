-- Stores which post has a text, unless another one has it already.
-- KEYS[1]   string: the post, `<id> <time>`; it expires
-- ARGV[1]   a new post
-- ARGV[2]   a post that does not count: its text is another one by now, or empty
-- ARGV[3]   for how long, in milliseconds
-- Reply     the post that has the text
local has = redis.call('GET', KEYS[1])
if has and has ~= ARGV[2] then
  return has
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return ARGV[1]
