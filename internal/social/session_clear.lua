-- Ends every session of a user.
-- KEYS[1]   the hash of the user
-- Reply     the sessions that were open, to be removed from `auths`
local closed = {}
for token in string.gmatch(redis.call('HGET', KEYS[1], 'auth') or '', '[^,]+') do
  closed[#closed + 1] = token
end
redis.call('HDEL', KEYS[1], 'auth')
return closed
