-- Adds a notification. Its id is the server's time, or the next id after the newest notification if
-- that is later. Nothing is added if the list has got the same notification since a given time.
-- KEYS[1]   see entries.lua
-- ARGV[1]   the text of the notification
-- ARGV[2]   the given time in milliseconds; 0 to add the notification in any case
-- Reply     1 if the notification was added, else 0
local time = redis.call('TIME')
local ms, seq = time[1] * 1000 + math.floor(time[2] / 1000), 0
local last, number = id_of(redis.call('LINDEX', KEYS[1], 0) or '')
local since = tonumber(ARGV[2])
if since > 0 and last and last >= since then
  for _, entry in ipairs(entries_with(ARGV[1], since)) do
    if (id_of(entry) or 0) >= since then return 0 end
  end
end
if last and last >= ms then
  ms, seq = last, number + 1
end
local id = string.format('%.0f-%.0f', ms, seq)
if redis.call('LPUSH', KEYS[1], id .. ' ' .. ARGV[1]) > kept + 100 then
  redis.call('LTRIM', KEYS[1], 0, kept - 1)
end
return 1
