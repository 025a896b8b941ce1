-- Delivers jobs whose consumer has not renewed its lease, and removes consumers that
-- have died: those without jobs that have not asked for any either.
-- KEYS[1]   the stream
-- ARGV[1]   the group
-- ARGV[2]   the consumer
-- ARGV[3]   after how many milliseconds a lease ends
-- ARGV[4]   how many jobs at the most
-- ARGV[5]   where to go on, 0-0 at first
-- ARGV[6]   after how many milliseconds a consumer counts as dead
-- Reply     where to go on next, the number of consumers, then {id, fields, how often
--           it was delivered} of each
local groups = redis.call('EXISTS', KEYS[1]) == 1 and redis.call('XINFO', 'GROUPS', KEYS[1]) or {}
if #groups == 0 then
  return {'0-0', 0}
end
local got = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[5], 'COUNT', ARGV[4])
local reply = {got[1], 0}
local deleted = false
for _, entry in ipairs(got[2]) do
  if entry then
    local pending = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)
    reply[#reply + 1] = {entry[1], entry[2], pending[1] and pending[1][4] or 1}
  else -- Redis 6.2 does not say which, and leaves it pending
    deleted = true
  end
end
if deleted then
  for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1000, ARGV[2])) do
    if #redis.call('XRANGE', KEYS[1], pending[1], pending[1]) == 0 then
      redis.call('XACK', KEYS[1], ARGV[1], pending[1])
    end
  end
end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local of = {}
  for i = 1, #consumer, 2 do
    of[consumer[i]] = consumer[i + 1]
  end
  if of['pending'] == 0 and of['idle'] > tonumber(ARGV[6]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], of['name'])
  else
    reply[2] = reply[2] + 1
  end
end
return reply
