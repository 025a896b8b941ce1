-- Adds a notification under the server's time, or after the newest where that is later.
-- ARGV[1]   its text
-- Reply     its id
local time = redis.call('TIME')
local ms, seq = time[1] * 1000 + math.floor(time[2] / 1000), 0
local last, number = id_of(redis.call('LINDEX', KEYS[1], 0) or '')
if last and last >= ms then
  ms, seq = last, number + 1
end
local id = string.format('%.0f-%.0f', ms, seq)
if redis.call('LPUSH', KEYS[1], id .. ' ' .. ARGV[1]) > kept + 100 then
  redis.call('LTRIM', KEYS[1], 0, kept - 1)
end
return id
