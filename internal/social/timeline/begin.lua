-- Starts building a home timeline that does not exist, or that has no end mark: from now on new
-- posts are pushed to it. Until it is complete, a negative number is its last entry.
-- KEYS[1]  the list
-- ARGV[1]  a negative number that no other list has
-- ARGV[2]  after how many seconds a new list expires if nobody completes it
-- ARGV[3]  the length of a full list, which needs no end mark
-- Reply    the negative number that the list ends with; 0 if it is complete, or of another
--          type
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'none' and kind ~= 'list' then
  return '0'
end
local last = tonumber(kind == 'list' and redis.call('LINDEX', KEYS[1], -1) or 1) or 1
if last < 0 then
  return redis.call('LINDEX', KEYS[1], -1)
end
if last == 0 or kind == 'list' and redis.call('LLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  return '0'
end
redis.call('RPUSH', KEYS[1], ARGV[1])
if kind == 'none' then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return ARGV[1]
