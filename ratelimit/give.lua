-- Gives back what an event took from limits, or resets the limits.
-- KEYS      the limits, see take.lua
-- ARGV      for each limit, how far the event moved its TAT, in microseconds; none: remove
--           the limits
-- Reply     OK; or FOREIGN and the key if a key holds something else, which is left unchanged
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for i, key in ipairs(KEYS) do
  local stored = redis.call('GETEX', key) -- see take.lua
  if stored then
    local tat, bound = string.match(stored, '^(%d+)%.(%d+)$')
    if not tat then
      return redis.error_reply('FOREIGN ' .. key)
    end
    local ahead = ARGV[i] and tat - ARGV[i] - now or 0
    if ahead > 0 and ahead < 2 ^ 53 then
      redis.call('SET', key, string.format('%.0f.', now + ahead) .. bound, 'PX', math.ceil(ahead / 1000))
    else
      redis.call('DEL', key)
    end
  end
end
return redis.status_reply('OK')
