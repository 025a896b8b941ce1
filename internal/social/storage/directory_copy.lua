-- Copies names to the authoritative hash of names. A name that the hash already has keeps its id,
-- unless the account was deleted meanwhile. Idempotent.
-- KEYS[1]   the hash
-- ARGV      name, id, name, id …; the id 0 means that the account was deleted
-- Reply     the number of names that were added or changed
local changed = 0
for i = 1, #ARGV, 2 do
  local current = redis.call('HGET', KEYS[1], ARGV[i])
  if not current or ARGV[i + 1] == '0' and current ~= '0' then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    changed = changed + 1
  end
end
return changed
