-- Records that a session is in use, and removes the expired sessions of its user.
-- KEYS[1]   the hash of the user
-- KEYS[2]   the hash of the user's sessions
-- ARGV[1]   the SHA-256 of the session's secret, in hex
-- ARGV[2]   the time, in Unix seconds
-- ARGV[3]   after how many seconds without use a session ends
-- ARGV[4]   after how many seconds a session ends in any case
-- ARGV[5]   the minimum interval between recorded uses, in seconds
-- Reply     the session's entry, or empty if the session is not open, followed by the
--           sessions that were removed
local now, idle, max_age = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local kept, reply = {}, {''}
for _, token in ipairs(list()) do
  if expired(token, now, idle, max_age) then
    reply[#reply + 1] = token
  else
    kept[#kept + 1] = token
    if token == ARGV[1] then
      local entry = redis.call('HGET', KEYS[2], token) or ''
      local created, used, device = string.match(entry, '^(%d+) (%d+) ?(.*)$')
      if not created then
        created, used, device = ARGV[2], '0', ''
      end
      if now - tonumber(used) >= tonumber(ARGV[5]) then
        entry = created .. ' ' .. ARGV[2] .. ' ' .. device
        redis.call('HSET', KEYS[2], token, entry)
      end
      reply[1] = entry
    end
  end
end
if #reply > 1 then
  store(kept)
end
return reply
