-- Functions shared by the scripts of this package.
-- Returns the time in microseconds since 2024. Each band of scores has room for sixty years.
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000000 + t[2] - 1704067200000000
end
-- Formats a number as the server formats a score: all are integers below 2^53.
local function int(n) return string.format('%.0f', n) end
-- The bands of a task class. The band of started tasks comes before the band of waiting tasks.
local BAND = 2e15
local function begun(class) return (class * 2 - 3) * BAND end
local function waiting(class) return (class * 2 - 2) * BAND end
-- Returns the replication ID of this server, the number of its replicas, and the text with both. A
-- connection without a port only reads a copy, as a backup does, and is not a replica. A replica
-- that is not online has no copy yet.
local function history()
  local info = redis.call('INFO', 'replication')
  local replicas = 0
  if not string.find(info, 'connected_slaves:0', 1, true) then -- the pattern below takes longer than everything else
    replicas = select(2, string.gsub(info, '\nslave%d+:ip=[^\r]*,port=[1-9]%d*,state=online', ''))
  end
  return string.match(info, 'master_replid:(%x+)'), replicas, info
end
-- Returns the identity of the replication history: the replication ID, which changes with each
-- restart and failover, but also when the first replica connects; the run ID of the server; and the
-- replication ID that the server took over when it was promoted, or zeros. Also returns the number
-- of replicas.
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
-- Leases a task until a time, and returns the token of the holder, which is the score. A new token
-- always differs from the previous one.
local function lease(key, class, member, at)
  local token = begun(class) + at - at % 2
  while redis.call('ZADD', key, 'CH', int(token), member) == 0 do
    token = token + 2
  end
  return int(token)
end
-- Reports whether a token is still the token of a task. A server may format the score differently.
local function has(key, member, token)
  return tonumber(redis.call('ZSCORE', key, member) or '') == tonumber(token)
end
-- Wakes a process that waits for tasks of a class.
local function wake(key)
  if redis.call('LLEN', key) < 64 then
    redis.call('RPUSH', key, '1')
  end
end
-- Makes later writes of the script possible. A server that is out of memory refuses commands that
-- need memory, unless the script has already written. This write needs no memory, and lets tasks
-- run that may free memory, such as deletions.
local function first_write(key) redis.call('ZREM', key, '') end
