-- Removes stale sessions of a user: everything if there is no such user, else the entries of
-- sessions that are not open.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's sessions, or of their log-ins
-- ARGV      the entries
-- Reply     how many were removed
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
