-- Leases one task to the caller.
-- KEYS[1]   the tasks
-- ARGV[1]   the task
-- ARGV[2]   the class of the task
-- ARGV[3]   the length of the lease, in microseconds
-- ARGV[4]   1 to take the task even if another process holds it
-- Reply     the token, or nil if the task does not exist, or another process holds it
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
local t = now()
if not score or ARGV[4] ~= '1' and tonumber(score) < waiting(ARGV[2]) and tonumber(score) > begun(ARGV[2]) + t then
  return false
end
first_write(KEYS[1])
return lease(KEYS[1], ARGV[2], ARGV[1], t + ARGV[3])
