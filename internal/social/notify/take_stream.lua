-- What all scripts that write notifications share.
-- KEYS[1]   the list of a user's notifications, the latest first, each `<id> <text>`
-- KEYS[2]   the stream in which an earlier version kept them, in the same slot
local kept = 1000

-- The milliseconds of an id, and its number within the millisecond.
local function id_of(entry)
  local ms, seq = string.match(entry, '^(%d+)%-(%d+) ')
  if ms and #ms <= 15 and #seq <= 15 then return tonumber(ms), tonumber(seq) end
end

-- Moves the entries of the stream to the list: at most 1,200 or so, once for a user, and
-- again while a process of the earlier version adds some.
local function take_stream()
  if redis.call('EXISTS', KEYS[2]) == 0 then return end
  local all = {}
  local function add(entry)
    local ms, seq = id_of(entry)
    if ms then all[#all + 1] = {ms, seq, entry} end
  end
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 2000)) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'n' then
        add(entry[1] .. ' ' .. entry[2][i + 1])
        break
      end
    end
  end
  for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    add(entry)
  end
  table.sort(all, function(a, b) return a[1] > b[1] or a[1] == b[1] and a[2] > b[2] end)
  redis.call('DEL', KEYS[1], KEYS[2])
  local texts = {}
  for i = 1, math.min(#all, kept) do
    texts[i] = all[i][3]
  end
  if #texts > 0 then
    redis.call('RPUSH', KEYS[1], unpack(texts))
  end
end
