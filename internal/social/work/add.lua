-- Adds tasks. Tasks that already exist are started again: finishing an earlier run does not
-- remove them.
-- KEYS[1]   the tasks
-- KEYS[2]   the list that wakes a process, for their class
-- ARGV[1]   their class
-- ARGV[2]   how long the caller leases them, in microseconds; 0: they wait for any process
-- ARGV[3..] the tasks
-- Reply     the replication history, and their tokens
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
