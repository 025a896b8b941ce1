-- Ends sessions of a user.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's sessions
-- ARGV[1]   which: `one`, `others` or `all`
-- ARGV[2]   the beginning of the token to end, or the token to keep
-- Reply     the sessions that have ended
local kept, ended = {}, {}
for _, token in ipairs(list()) do
  local same = string.sub(token, 1, #ARGV[2]) == ARGV[2]
  if ARGV[1] == 'all' or (ARGV[1] == 'one') == same then
    ended[#ended + 1] = token
  else
    kept[#kept + 1] = token
  end
end
-- A server that is out of memory refuses commands that need memory, unless the script
-- has already written. This write changes nothing and makes log-out possible on such a server.
redis.call('HDEL', KEYS[2], '')
store(kept)
return ended
