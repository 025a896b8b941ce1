-- Shared by all scripts that write notifications.
-- KEYS[1]   the list of a user's notifications, latest first, each `<id> <text>`
local kept = 1000

-- Returns the milliseconds of an entry's id, and its number within the millisecond.
local function id_of(entry)
  local ms, seq = string.match(entry, '^(%d+)%-(%d+) ')
  if ms and #ms <= 15 and #seq <= 15 then return tonumber(ms), tonumber(seq) end
end

-- Returns the entries with a text from the latest page of 100 entries that has any. It reads pages
-- until they are older than a time in milliseconds. The list has at most 1,100 entries.
local function entries_with(text, since)
  local found, start, size = {}, 0, 100
  text = ' ' .. text
  repeat
    local page = redis.call('LRANGE', KEYS[1], start, start + size - 1)
    local ms
    for _, entry in ipairs(page) do
      ms = id_of(entry) or ms
      if string.sub(entry, -#text) == text then
        found[#found + 1] = entry
      end
    end
    start = start + size
  until #found > 0 or #page < size or ms and ms < since
  return found
end

