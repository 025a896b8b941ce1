-- Counts the reports about a target by their kind.
-- KEYS[1]   hash: the case; see add.lua
-- Reply     kind, number, kind, number ...
local counts = {}
for _, value in ipairs(redis.call('HVALS', KEYS[1])) do
  local kind = string.match(value, '^%d+ (%S+)') -- none in `staff`, which is no report
  if kind then
    counts[kind] = (counts[kind] or 0) + 1
  end
end
local reply = {}
for kind, n in pairs(counts) do
  reply[#reply + 1] = kind
  reply[#reply + 1] = tostring(n)
end
return reply
