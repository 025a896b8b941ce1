-- Gives back what was taken from limits.
-- KEYS      the limits, see take.lua
-- ARGV      for each limit how far the event had moved its TAT, in microseconds
-- Reply     OK
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i, key in ipairs(KEYS) do
  local stored = redis.call('GETEX', key) or '' -- see take.lua
  local tat, bound = string.match(stored, '^(%d+)(%.%d+)$')
  local ahead = (tonumber(tat or stored) or now) - tonumber(ARGV[i]) - now
  if ahead > 0 and ahead < 2 ^ 53 then
    redis.call('SET', key, string.format('%.0f', now + ahead) .. (bound or ''), 'PX', math.ceil(ahead / 1000))
  else
    redis.call('DEL', key)
  end
end
return redis.status_reply('OK')
