-- Adds a report about a target, unless the person has an open one about it.
-- KEYS[1]   hash: the case: `by:<uid>` -> the report; `staff` -> 1 for a target with a role
-- KEYS[2]   sorted set: the targets of open cases, scored by the first report
-- ARGV[1]   the target
-- ARGV[2]   the person
-- ARGV[3]   the report
-- ARGV[4]   the time, unix milliseconds
-- ARGV[5]   1 when the target has a role, else 0
-- ARGV[6]   how many reports a case keeps
-- Reply     1 when it was added, 0 when the person had one, or the case is full; and `staff` of
--           the case, which the first report about it has set
redis.call('HSETNX', KEYS[1], 'staff', ARGV[5])
local staff = redis.call('HGET', KEYS[1], 'staff') == '1' and 1 or 0
redis.call('ZADD', KEYS[2], 'NX', ARGV[4], ARGV[1])
if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[6]) then
  return {0, staff}
end
return {redis.call('HSETNX', KEYS[1], 'by:' .. ARGV[2], ARGV[3]), staff}
