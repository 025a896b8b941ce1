-- Reads a page of a list by cursor.
-- KEYS[1]   the list (IDs, largest first)
-- ARGV[1]   the last ID of the previous page
-- ARGV[2]   how many IDs to return
-- Reply     the IDs after ARGV[1]; if the list no longer has that ID, the IDs that are
--           smaller
local at = redis.call('LPOS', KEYS[1], ARGV[1])
if not at then
  local last = tonumber(ARGV[1])
  for i, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    if (tonumber(id) or 0) < last then
      at = i - 2
      break
    end
  end
end
if not at then
  return {}
end
return redis.call('LRANGE', KEYS[1], at + 1, at + tonumber(ARGV[2]))
