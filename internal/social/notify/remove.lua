-- Removes a notification.
-- ARGV[1]   its text
-- ARGV[2]   the time of the action in milliseconds
-- Reply     how many were removed
local entries = entries_with(ARGV[1], tonumber(ARGV[2]))
for _, entry in ipairs(entries) do
  redis.call('LREM', KEYS[1], 1, entry)
end
return #entries
