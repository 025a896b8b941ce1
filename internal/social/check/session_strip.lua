-- Removes stale session entries of a user. If the user does not exist, the whole hash is removed,
-- otherwise the given entries of sessions that are not open.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's sessions, or of the user's log-ins
-- ARGV      the fields of the entries
-- Reply     the number of removed entries; 1 if the hash was removed
if redis.call('HEXISTS', KEYS[1], 'username') == 0 then
  return redis.call('UNLINK', KEYS[2])
end
local open = {}
for token in string.gmatch(redis.call('HGET', KEYS[1], 'auth') or '', '[^,]+') do
  open[token] = true
end
local removed = 0
for _, token in ipairs(ARGV) do
  if not open[token] then
    removed = removed + redis.call('HDEL', KEYS[2], token)
  end
end
return removed
