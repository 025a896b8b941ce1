-- Removes a notification: looks at the latest hundred, and at what is not older than the
-- action. The list has at most 1,100.
-- ARGV[1]   its text
-- ARGV[2]   the time of the action in milliseconds
-- Reply     how many were removed
local text, from, removed = ' ' .. ARGV[1], tonumber(ARGV[2]), 0
local at, size = 0, 100
repeat
  local page = redis.call('LRANGE', KEYS[1], at, at + size - 1)
  local ms
  for _, entry in ipairs(page) do
    ms = id_of(entry) or ms
    if string.sub(entry, -#text) == text then
      redis.call('LREM', KEYS[1], 1, entry)
      removed = removed + 1
    end
  end
  at = at + size
until removed > 0 or #page < size or ms and ms < from
return removed
