-- Ends one session of a user.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the SHA-256 of the session's secret, in hex
-- Reply     1 when it was open, else 0
local kept, found = {}, 0
for token in string.gmatch(redis.call('HGET', KEYS[1], 'auth') or '', '[^,]+') do
  if token == ARGV[1] then
    found = 1
  else
    kept[#kept + 1] = token
  end
end
if found == 1 and #kept == 0 then
  redis.call('HDEL', KEYS[1], 'auth')
elseif found == 1 then
  redis.call('HSET', KEYS[1], 'auth', table.concat(kept, ','))
end
return found
