-- Sets the counters of a post to the sizes of its sets.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the sorted set of users who like the post
-- KEYS[3]   the sorted set of users who have reposted the post
-- KEYS[4]   the set of replies to the post
-- Reply     1 if a counter was wrong, else 0
if redis.call('HEXISTS', KEYS[1], 'user_id') == 0 then
  return 0
end
local function size(command, key)
  local n = redis.pcall(command, key)
  return type(n) == 'number' and n or 0
end
local changed = 0
for field, n in pairs({
  likes = size('ZCARD', KEYS[2]), reposts = size('ZCARD', KEYS[3]), replies = size('SCARD', KEYS[4]),
}) do
  local stored = redis.call('HGET', KEYS[1], field)
  if stored ~= tostring(n) and (stored or n > 0) then
    redis.call('HSET', KEYS[1], field, n)
    changed = 1
  end
end
return changed
