-- What all scripts that write notifications share.
-- KEYS[1]   the list of a user's notifications, the latest first, each `<id> <text>`
-- KEYS[2]   the stream in which an earlier version kept them, in the same slot
local kept = 1000

-- The milliseconds of an id, its number within the millisecond, and what follows the id.
local function id_of(entry)
  local ms, seq, text = string.match(entry, '^(%d+)%-(%d+)( .*)$')
  if ms and #ms <= 15 and #seq <= 15 then return tonumber(ms), tonumber(seq), text end
end

-- Moves the entries of the stream to the list: at most 1,200 or so, once for a user, and
-- again while a process of the earlier version adds some.
local function take_stream()
  if redis.call('EXISTS', KEYS[2]) == 0 then return end
  local all = {}
  local function add(entry)
    local ms, seq, text = id_of(entry)
    if ms then all[#all + 1] = {ms, seq, text, #all} end
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
  table.sort(all, function(a, b)
    if a[1] ~= b[1] then return a[1] > b[1] end
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[4] > b[4]
  end)
  -- Entries added to both within a millisecond can have the same id: that of the list
  -- comes after.
  for i = #all - 1, 1, -1 do
    local ms, seq = all[i + 1][1], all[i + 1][2]
    if all[i][1] == ms and all[i][2] <= seq then all[i][2] = seq + 1 end
  end
  redis.call('DEL', KEYS[1], KEYS[2])
  local texts = {}
  for i = 1, math.min(#all, kept) do
    texts[i] = string.format('%.0f-%.0f', all[i][1], all[i][2]) .. all[i][3]
  end
  if #texts > 0 then
    redis.call('RPUSH', KEYS[1], unpack(texts))
  end
end
