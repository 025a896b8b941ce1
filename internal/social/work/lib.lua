-- Functions shared by the scripts of this package.
-- The time in microseconds since 2024, as a score; each band has room for sixty years.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2] - 1704067200000000
end
-- Formats a number as the server formats a score: all are integers below 2^53.
local function int(n) return string.format('%.0f', n) end
-- The bands of a task class: the band of started tasks comes before that of waiting ones.
local BAND = 2e15
local function begun(class) return (class * 2 - 3) * BAND end
local function waiting(class) return (class * 2 - 2) * BAND end
-- The replication ID of this server, and its number of replicas. A connection without a port
-- reads a copy, as a backup does, and is no replica; one that is not online has no copy yet.
local function history()
  local info = redis.call('INFO', 'replication')
  local replicas = 0
  if not string.find(info, 'connected_slaves:0', 1, true) then -- the pattern alone takes longer than everything else
    replicas = select(2, string.gsub(info, '\nslave%d+:ip=[^\r]*,port=[1-9]%d*,state=online', ''))
  end
  return string.match(info, 'master_replid:(%x+)'), replicas, info
end
-- The identity of a replication history: its replication ID, which changes with each restart and
-- failover, but also when the first replica connects; the run ID of the server; and the replication
-- ID that it took over when it was promoted, or zeros.
local function identity()
  local id, replicas, info = history()
  return id .. ':' .. string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') .. ':' ..
    string.match(info, 'master_replid2:(%x+)'), replicas
end
-- Reports whether the writes since a mark, which is an earlier identity, are part of the
-- history with this replication ID.
local function same(mark, id)
  if string.sub(mark, 1, 40) == id then
    return true
  end
  local now = identity()
  return string.sub(mark, 42, 81) == string.sub(now, 42, 81) and not string.find(now, '[^0]', 83)
end
-- Leases a task until a time. The score is the token of the holder: no two are the same.
local function lease(key, class, member, at)
  local token = begun(class) + at - at % 2
  while redis.call('ZADD', key, 'CH', int(token), member) == 0 do
    token = token + 2
  end
  return int(token)
end
-- Reports whether a token is still the one of a task. A server may format the score differently.
local function has(key, member, token)
  return tonumber(redis.call('ZSCORE', key, member) or '') == tonumber(token)
end
-- Wakes a process that waits for tasks of a class.
local function wake(key)
  if redis.call('LLEN', key) < 64 then
    redis.call('RPUSH', key, '1')
  end
end
-- A server that is out of memory refuses commands that need some, unless the script has already
-- written. This write needs none, and lets tasks run that may free memory, such as deletions.
local function first_write(key) redis.call('ZREM', key, '') end
