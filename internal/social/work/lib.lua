-- Shared by the scripts of this package.
-- The time in microseconds, as a score: from 2024, so that each band has room for sixty years.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2] - 1704067200000000
end
-- A number as the server writes it as a score: all are integers below 2^53.
local function int(n) return string.format('%.0f', n) end
-- The bands of a class of tasks: those that wait, and before them those that were begun.
local BAND = 2e15
local function begun(class) return (class * 2 - 3) * BAND end
local function waiting(class) return (class * 2 - 2) * BAND end
-- The history of writes that this server has, and how many replicas. What is there without a
-- port reads a copy, as a backup does, and is no replica; what is not online has not even a copy.
local function history()
  local info = redis.call('INFO', 'replication')
  local replicas = 0
  if not string.find(info, 'connected_slaves:0', 1, true) then -- the pattern alone takes longer than all else
    replicas = select(2, string.gsub(info, '\nslave%d+:ip=[^\r]*,port=[1-9]%d*,state=online', ''))
  end
  return string.match(info, 'master_replid:(%x+)'), replicas, info
end
-- The identity of a history: its id, which changes with each restart and failover, but also when
-- the first replica connects; the process of the server; and the history that it took over when it
-- was promoted, zeros for none.
local function identity()
  local id, replicas, info = history()
  return id .. ':' .. string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') .. ':' ..
    string.match(info, 'master_replid2:(%x+)'), replicas
end
-- Reports whether what was written since a mark, which is an earlier identity, is part of the
-- history with this id.
local function same(mark, id)
  if string.sub(mark, 1, 40) == id then
    return true
  end
  local now = identity()
  return string.sub(mark, 42, 81) == string.sub(now, 42, 81) and not string.find(now, '[^0]', 83)
end
-- Leases a task until a time. The score is the token of who has it: no two are the same.
local function lease(key, class, member, at)
  local token = begun(class) + at - at % 2
  while redis.call('ZADD', key, 'CH', int(token), member) == 0 do
    token = token + 2
  end
  return int(token)
end
-- Reports whether a token is still the one of a task. A server may write the score in another way.
local function has(key, member, token)
  return tonumber(redis.call('ZSCORE', key, member) or '') == tonumber(token)
end
-- Wakes a process that waits for a task of a class.
local function wake(key)
  if redis.call('LLEN', key) < 64 then
    redis.call('RPUSH', key, '1')
  end
end
-- A server without memory refuses a command that needs some, unless the script has written
-- before. This write needs none: a task may free memory, as a deletion does.
local function first_write(key) redis.call('ZREM', key, '') end
