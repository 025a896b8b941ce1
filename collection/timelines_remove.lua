-- Removes IDs from lists.
-- KEYS      the lists
-- ARGV      the IDs
-- Reply     the number of removed entries; a key of another type is left unchanged
-- Work      O(length) for each list and ID
local removed = 0
for _, key in ipairs(KEYS) do
  for _, id in ipairs(ARGV) do
    local n = redis.pcall('LREM', key, 0, id)
    if type(n) == 'table' then
      if not string.find(n['err'], 'WRONGTYPE', 1, true) then
        return n
      end
      break
    end
    removed = removed + n
  end
end
return removed
