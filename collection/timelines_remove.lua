-- Removes ids from lists.
-- KEYS      the lists
-- ARGV      the ids
-- Reply     how many entries were removed; a key of another type is left as it is
-- Work      O(length) for each list and id
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
