-- Removes a notification.
-- KEYS[1]   see entries.lua
-- ARGV[1]   the text of the notification
-- ARGV[2]   the time of the action in milliseconds
-- Reply     the number of removed entries
local entries = entries_with(ARGV[1], tonumber(ARGV[2]))
for _, entry in ipairs(entries) do
  redis.call('LREM', KEYS[1], 1, entry)
end
return #entries
