-- Chooses the periodic work that the caller starts now, and postpones the work that it is doing.
-- KEYS[1]   sorted set: periodic work, scored by the time in microseconds at which it is due
-- ARGV      for each item that the caller can do: its name, its interval in microseconds, and 1
--           if the caller is doing it
-- Reply     the time until the next item is due, in microseconds; then the items to start now
first_write(KEYS[1])
local t, reply = now(), {}
local next = tonumber(ARGV[2])
for i = 1, #ARGV, 3 do
  local interval, due = tonumber(ARGV[i + 1]), tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or '')
  -- A due time more than one interval ahead was set when the clock was wrong.
  local take = ARGV[i + 2] ~= '1' and (not due or due <= t or due > t + interval)
  if take then
    reply[#reply + 1] = ARGV[i]
  end
  if take or ARGV[i + 2] == '1' then
    due = t + interval
    redis.call('ZADD', KEYS[1], int(due), ARGV[i])
  end
  next = math.min(next, due - t)
end
return {int(next), unpack(reply)}
