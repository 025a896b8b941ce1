-- Begins to make a home timeline that does not exist: from now on new posts are put on
-- it. It has a negative number as its last entry until it is complete.
-- KEYS[1]  the list
-- ARGV[1]  a negative number that no other list has
-- ARGV[2]  after how many seconds the list expires should nobody complete it
-- Reply    the negative number that the list ends with; 0 where it is complete, or of
--          another type
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then
  redis.call('RPUSH', KEYS[1], ARGV[1])
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  return ARGV[1]
end
if kind ~= 'list' then
  return '0'
end
local last = redis.call('LINDEX', KEYS[1], -1)
if (tonumber(last) or 0) < 0 then
  return last
end
return '0'
