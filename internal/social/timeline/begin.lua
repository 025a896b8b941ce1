-- Starts building a home timeline that does not exist, or that has no end mark. From now on new
-- posts are pushed to the list. Until the list is complete, its last entry is a negative number.
-- KEYS[1]  the list
-- ARGV[1]  a negative number that no other list has
-- ARGV[2]  the time in seconds after which a new list expires if no process completes it
-- ARGV[3]  the length of a full list, which needs no end mark
-- Reply    the negative number at the end of the list; 0 if the list is complete, or the key has
--          another type
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
