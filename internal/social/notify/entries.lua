-- Shared by all scripts that write notifications.
-- KEYS[1]   the list of a user's notifications, latest first, each `<id> <text>`
local kept = 1000

-- The milliseconds of an id, and its number within the millisecond.
local function id_of(entry)
  local ms, seq = string.match(entry, '^(%d+)%-(%d+) ')
  if ms and #ms <= 15 and #seq <= 15 then return tonumber(ms), tonumber(seq) end
end

-- Returns the entries with a text among the latest hundred, and among those since a time in
-- milliseconds. The list has at most 1,100.
local function entries_with(text, since)
  local found, at, size = {}, 0, 100
  text = ' ' .. text
  repeat
    local page = redis.call('LRANGE', KEYS[1], at, at + size - 1)
    local ms
    for _, entry in ipairs(page) do
      ms = id_of(entry) or ms
      if string.sub(entry, -#text) == text then
        found[#found + 1] = entry
      end
    end
    at = at + size
  until #found > 0 or #page < size or ms and ms < since
  return found
end

