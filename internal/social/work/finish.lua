-- Removes tasks that are done and that the caller still holds.
-- KEYS[1]   the tasks
-- KEYS[2]   the number of starts of each task
-- ARGV      for each task: its name, its token, and the replication history under which it was
--           started, empty to skip the check of the history
-- Reply     the current replication history; the number of replicas; then for each task 1 if it was
--           removed, 0 if the caller no longer holds it, -1 if some of its writes may be lost
local id, replicas = history()
local reply = {id, replicas}
for i = 1, #ARGV, 3 do
  local result = 0
  if ARGV[i + 2] ~= '' and not same(ARGV[i + 2], id) then
    result = -1
  elseif has(KEYS[1], ARGV[i], ARGV[i + 1]) then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
    result = 1
  end
  reply[#reply + 1] = result
end
return reply
