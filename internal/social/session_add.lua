-- Adds a session to a user's own list of them, newest first.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the SHA-256 of the session's secret, in hex
-- ARGV[2]   how many sessions to keep
-- Reply     the sessions that were dropped: those over the limit, and a secret in
--           clear as the original program stored it
local kept, dropped = {ARGV[1]}, {}
for token in string.gmatch(redis.call('HGET', KEYS[1], 'auth') or '', '[^,]+') do
  if #token == 64 and #kept < tonumber(ARGV[2]) then
    if token ~= ARGV[1] then
      kept[#kept + 1] = token
    end
  else
    dropped[#dropped + 1] = token
  end
end
redis.call('HSET', KEYS[1], 'auth', table.concat(kept, ','))
return dropped
