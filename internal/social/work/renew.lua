-- Renews the leases on tasks that the caller still holds.
-- KEYS[1]   the tasks
-- ARGV[1]   the length of the leases, in microseconds
-- ARGV[2..] for each task: its name, its token and its class
-- Reply     the new token of each task, empty if the caller no longer holds the task
first_write(KEYS[1])
local reply, t = {}, now()
for i = 2, #ARGV, 3 do
  local token = ''
  if has(KEYS[1], ARGV[i], ARGV[i + 1]) then
    token = lease(KEYS[1], ARGV[i + 2], ARGV[i], t + ARGV[1])
  end
  reply[#reply + 1] = token
end
return reply
