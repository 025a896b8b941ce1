-- Returns an id for a new post, or the post to which a text is already assigned.
-- KEYS[1]   the post counter
-- KEYS[2]   the claim, a string that expires: the post that has the text, `<id> <time>`. Omitted
--           for a post that cannot be a repetition
-- ARGV[1]   the largest id that the caller has seen; if the counter is smaller, the server has
--           lost writes
-- ARGV[2]   the maximum distance by which the counter can have fallen back
-- ARGV[3]   the time of a new post
-- ARGV[4]   a claim to ignore, because the text of its post has changed; may be empty
-- ARGV[5]   the lifetime of a new claim in milliseconds
-- Reply     the post, `<id> <time>`, and 1 if the id is new
local claim = KEYS[2] and redis.call('GET', KEYS[2])
if claim and claim ~= ARGV[4] then
  return {claim, '0'}
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
