-- Adds an ID to lists. The lists stay sorted, largest ID first, so a late ID takes its place in
-- the order, and adding an ID twice changes nothing.
-- KEYS      the lists
-- ARGV[1]   the ID
-- ARGV[2]   how many IDs a list keeps
-- ARGV[3]   how many more IDs a list may have before it is trimmed
-- ARGV[4]   1: do not create missing lists
-- Reply     the number of lists to which the ID was added; a key of another type is left
--           unchanged
-- Work      O(1) per list for the largest ID, O(length) for a late ID
local id, max, slack = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local chunk = 64

-- late inserts an ID that is not the largest.
local function late(key)
  local from = 0
  while true do
    local ids = redis.call('LRANGE', key, from, from + chunk - 1)
    for _, other in ipairs(ids) do
      local n = tonumber(other) or 0
      if n == id then
        return 0
      end
      if n < id then
        return redis.call('LINSERT', key, 'BEFORE', other, ARGV[1])
      end
    end
    from = from + chunk
    if #ids < chunk then
      break
    end
  end
  -- The ID is smaller than all others: a full list has already dropped it.
  if redis.call('LLEN', key) >= max then
    return 0
  end
  return redis.call('RPUSH', key, ARGV[1])
end

local added = 0
for _, key in ipairs(KEYS) do
  local head = redis.pcall('LINDEX', key, 0)
  local length
  if type(head) == 'table' then
    if not string.find(head['err'], 'WRONGTYPE', 1, true) then
      return head
    end
    length = 0
  elseif not head and ARGV[4] == '1' then
    length = 0
  elseif not head or (tonumber(head) or 0) < id then
    length = redis.call('LPUSH', key, ARGV[1])
  else
    length = late(key)
  end
  if length > 0 then
    added = added + 1
    if length > max + slack then
      redis.call('LTRIM', key, 0, max - 1)
    end
  end
end
return added
