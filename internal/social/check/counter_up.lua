-- Raises a counter to an id in use.
-- KEYS[1]   the counter
-- ARGV[1]   the id
-- Reply     1 if the counter was set, else 0
local value = redis.call('GET', KEYS[1])
local digits = value and string.match(value, '^%-?%d+$')
if digits and tonumber(digits) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
