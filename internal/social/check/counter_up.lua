-- Raises a counter to an id that is in use.
-- KEYS[1]   the counter
-- ARGV[1]   the id
-- Reply     1 if it was lower or not a number, else 0
local at = redis.call('GET', KEYS[1])
local digits = at and string.match(at, '^%-?%d+$')
if digits and tonumber(digits) >= tonumber(ARGV[1]) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
