-- Gives back what was taken from limits.
-- KEYS      the limits
-- ARGV      for each limit how far the event had moved its TAT, in microseconds
-- Reply     OK
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i, key in ipairs(KEYS) do
  local tat = tonumber(redis.call('GETEX', key) or now) or now -- see take.lua
  local ahead = tat - tonumber(ARGV[i]) - now
  if ahead > 0 and ahead < 2 ^ 53 then
    redis.call('SET', key, string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000))
  else
    redis.call('DEL', key)
  end
end
return redis.status_reply('OK')
