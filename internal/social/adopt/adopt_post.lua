-- Turns a post of 2009, a string, into the hash of a post. Repeating it
-- changes nothing.
-- KEYS[1]   the post
-- ARGV[1]   the string as it was read
-- ARGV[2..] field, value, field, value ...
-- Reply     1 when it was converted now, 0 when the key holds anything else
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV, 2))
return 1
