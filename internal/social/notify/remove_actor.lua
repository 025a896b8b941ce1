-- Removes the notifications that some users have caused.
-- KEYS[1]   see entries.lua
-- ARGV      the ids of the users
-- Reply     the number of removed entries
local actors, left = {}, {}
for _, id in ipairs(ARGV) do
  actors[id] = true
end
local all = redis.call('LRANGE', KEYS[1], 0, -1)
for _, entry in ipairs(all) do
  local actor = string.match(entry, '^[^ ]* .:(%d+):')
  if not actors[actor] then
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
