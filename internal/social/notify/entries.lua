-- What all scripts that write notifications share.
-- KEYS[1]   the list of a user's notifications, the latest first, each `<id> <text>`
local kept = 1000

-- The milliseconds of an id and its number within the millisecond.
local function id_of(entry)
  local ms, seq = string.match(entry, '^(%d+)%-(%d+) ')
  if ms and #ms <= 15 and #seq <= 15 then return tonumber(ms), tonumber(seq) end
end

