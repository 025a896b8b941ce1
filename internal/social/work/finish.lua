-- Removes tasks that are done and that the caller still has.
-- KEYS[1]   the tasks
-- KEYS[2]   how often each was begun
-- ARGV      of each task: its name, its token, and the history of writes under which it was
--           begun, empty where that does not matter
-- Reply     the history of writes now; how many replicas the server has; then 1 of each task that
--           was removed, 0 where the caller has it no more, -1 where a part of it can be lost
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
