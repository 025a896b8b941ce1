-- Copies names to the authoritative hash of names: names that it already has stay, except
-- one that was given up meanwhile. Repeating it changes nothing.
-- KEYS[1]   the hash
-- ARGV      name, id, name, id …; the id 0 means that the name is never free again
-- Reply     how many names were added or changed
local changed = 0
for i = 1, #ARGV, 2 do
  local now = redis.call('HGET', KEYS[1], ARGV[i])
  if not now or ARGV[i + 1] == '0' and now ~= '0' then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    changed = changed + 1
  end
end
return changed
