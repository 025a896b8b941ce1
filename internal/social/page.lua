-- One page of a timeline, by cursor.
-- KEYS[1]   the timeline (a list of post ids, newest first)
-- ARGV[1]   the id of the last post seen
-- ARGV[2]   how many ids to return
-- Reply     the ids that follow it. When it is not there any more: the ids
--           from the first that is older
local at = redis.call('LPOS', KEYS[1], ARGV[1])
if not at then
  local before = tonumber(ARGV[1])
  for i, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
    if (tonumber(id) or 0) < before then
      at = i - 2
      break
    end
  end
end
if not at then
  return {}
end
return redis.call('LRANGE', KEYS[1], at + 1, at + tonumber(ARGV[2]))
