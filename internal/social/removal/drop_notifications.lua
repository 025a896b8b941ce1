-- Removes the notifications that a user has caused.
-- KEYS[1]   the stream of another user's notifications, at most 1,200 or so
-- ARGV[1]   the id of the user
-- Reply     how many were removed
local part, ids = ':' .. ARGV[1] .. ':', {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 2000)) do
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'n' and string.find(entry[2][i + 1], part, 2, true) == 2 then
      ids[#ids + 1] = entry[1]
      break
    end
  end
end
if #ids == 0 then
  return 0
end
return redis.call('XDEL', KEYS[1], unpack(ids))
