-- Adds tasks. A task that already exists is started again; finishing an earlier run does not remove
-- the task.
-- KEYS[1]   the tasks
-- KEYS[2]   the list that wakes a process, for the class of the new tasks
-- ARGV[1]   the class of the new tasks
-- ARGV[2]   the length of the caller's lease in microseconds; 0 if the tasks wait for any process
-- ARGV[3..] the new tasks
-- Reply     the replication history, and the tokens of the new tasks
first_write(KEYS[1])
local reply, t = {(history())}, now()
for i = 3, #ARGV do
  if ARGV[2] == '0' then
    reply[#reply + 1] = int(waiting(ARGV[1]) + t)
    redis.call('ZADD', KEYS[1], reply[#reply], ARGV[i])
  else
    reply[#reply + 1] = lease(KEYS[1], ARGV[1], ARGV[i], t + ARGV[2])
  end
end
if ARGV[2] == '0' then
  wake(KEYS[2])
end
return reply
