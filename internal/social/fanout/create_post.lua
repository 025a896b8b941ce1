-- Writes a new post, never over another key, and adds it to the unfinished fan-outs.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the sorted set of unfinished fan-outs, by time of renewal
-- ARGV[1]   the post's id
-- ARGV[2]   the time now
-- ARGV[3..] field, value, field, value ...
-- Reply     1 when the hash now holds these fields, also when an earlier attempt
--           of the same write succeeded; 0 when it holds something else,
--           or the key is of another type
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'none' and kind ~= 'hash' then
  return 0
end
if kind == 'hash' then
  for i = 3, #ARGV, 2 do
    if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then
      return 0
    end
  end
end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
if kind == 'none' then
  redis.call('HSET', KEYS[1], unpack(ARGV, 3))
end
return 1
