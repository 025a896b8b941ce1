-- Removes a job that is done, and the stream with its last job: a queue that is empty
-- has no key.
-- KEYS[1]   the stream
-- ARGV[1]   the group
-- ARGV[2]   the consumer
-- ARGV[3]   the id of the entry
-- Reply     1, or 0 when another consumer has the job by now
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if pending.err or not pending[1] or pending[1][2] ~= ARGV[2] then
  return 0
end
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
redis.call('XDEL', KEYS[1], ARGV[3])
if redis.call('XLEN', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[1])
end
return 1
