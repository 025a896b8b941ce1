-- Removes the notifications that a user has caused.
-- ARGV[1]   the id of the user
-- Reply     how many were removed
take_stream()
local part, left = ':' .. ARGV[1] .. ':', {}
local all = redis.call('LRANGE', KEYS[1], 0, -1)
for _, entry in ipairs(all) do
  local at = string.find(entry, ' ', 1, true)
  if not at or string.find(entry, part, at + 2, true) ~= at + 2 then
    left[#left + 1] = entry
  end
end
if #left < #all then
  redis.call('DEL', KEYS[1])
  if #left > 0 then
    redis.call('RPUSH', KEYS[1], unpack(left))
  end
end
return #all - #left
