-- Leaves a task that the caller holds: to any process after a pause, or as a dead letter.
-- KEYS[1]   the tasks
-- KEYS[2]   the number of starts of each task
-- KEYS[3]   the dead letters
-- KEYS[4]   the list that wakes a process, for the class of the task
-- ARGV[1]   the task
-- ARGV[2]   the token of the task
-- ARGV[3]   the class of the task
-- ARGV[4]   the pause in microseconds
-- ARGV[5]   1 if this try does not count
-- ARGV[6]   the maximum number of dead letters; 0 if the task is to be tried again
-- ARGV[7]   for a dead letter: the last error, ARGV[8] the time, ARGV[9] the number of tries
-- Reply     1, or 0 if the caller no longer holds the task
if not has(KEYS[1], ARGV[1], ARGV[2]) then
  return 0
end
first_write(KEYS[1])
if ARGV[6] ~= '0' then
  redis.call('XADD', KEYS[3], 'MAXLEN', ARGV[6], '*', 'job', ARGV[1], 'error', ARGV[7], 'time', ARGV[8], 'tries', ARGV[9])
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  return 1
end
local due = now() + ARGV[4]
redis.call('ZADD', KEYS[1], int(begun(ARGV[3]) + due - due % 2 + 1), ARGV[1]) -- odd, because no dead process abandoned the task
if ARGV[5] == '1' and redis.call('HINCRBY', KEYS[2], ARGV[1], -1) <= 0 then
  redis.call('HDEL', KEYS[2], ARGV[1])
end
if ARGV[4] == '0' then
  wake(KEYS[4])
end
return 1
