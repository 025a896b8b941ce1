-- Puts a post on timelines. They stay in order, newest (largest id) first, so
-- a post that is there already is found by its place: repeating does no harm,
-- and a post that comes late takes the place it would have had.
-- KEYS      the timelines (lists)
-- ARGV[1]   the post's id
-- ARGV[2]   how many posts a timeline keeps
-- Reply     how many timelines did not have the post; a key that is no list is
--           left as it is
-- Work      O(1) a timeline for a new post; O(its length) for a late one
local id, cap = tonumber(ARGV[1]), tonumber(ARGV[2])
local slack = 100 -- trim now and then, not with each push
local chunk = 64

-- late inserts a post that is not the newest.
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
  -- Older than everything: a full timeline has let it go already.
  if redis.call('LLEN', key) >= cap then
    return 0
  end
  return redis.call('RPUSH', key, ARGV[1])
end

local pushed = 0
for _, key in ipairs(KEYS) do
  local head = redis.pcall('LINDEX', key, 0)
  local length
  if type(head) == 'table' then
    if not string.find(head['err'], 'WRONGTYPE', 1, true) then
      return head
    end
    length = 0
  elseif not head or (tonumber(head) or 0) < id then
    length = redis.call('LPUSH', key, ARGV[1])
  else
    length = late(key)
  end
  if length > 0 then
    pushed = pushed + 1
    if length > cap + slack then
      redis.call('LTRIM', key, 0, cap - 1)
    end
  end
end
return pushed
