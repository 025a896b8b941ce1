-- Takes from several limits: from all of them, or from none.
-- KEYS      the limits: each the theoretical arrival time (TAT) in microseconds, a dot, and
--           how far it may be ahead of the present for the limit that last moved it
-- ARGV      for each limit: how far the TAT may be ahead of the present, and how far the
--           event moves it, in microseconds; 0 takes nothing
-- Reply     1 if the event is allowed, otherwise 0; then for each limit how far its TAT is
--           ahead of the present now, in microseconds. FOREIGN and the key if a key holds
--           something else: then nothing is written
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local longest = 4e14 -- no bucket takes as long to empty, see maxSpan

local function set(key, ahead, most)
  redis.call('SET', key, string.format('%.0f.%.0f', now + ahead, most), 'PX', math.ceil(ahead / 1000))
end

local reply, ahead, late = { 1 }, {}, {}
for i, key in ipairs(KEYS) do
  local most, cost = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  -- GETEX counts as a write, and after a write a server lets a script continue when its memory is
  -- full: limits must hold then, too.
  local stored = redis.call(cost > 0 and 'GETEX' or 'GET', key)
  local tat, bound = now, most
  if stored then
    tat, bound = string.match(stored, '^(%d+)%.(%d+)$')
    if not tat then
      return redis.error_reply('FOREIGN ' .. key)
    end
    tat, bound = tonumber(tat), tonumber(bound)
    if bound < 1 or bound > longest then
      bound = most -- another program has written it
    end
  end
  ahead[i] = math.max(tat - now, 0)
  if ahead[i] > bound then
    ahead[i], late[i] = bound, bound -- the clock of another server was ahead
  end
  if ahead[i] + cost > most then
    reply[1] = 0
  end
end
for i, key in ipairs(KEYS) do
  local cost = tonumber(ARGV[2 * i])
  if reply[1] == 1 and cost > 0 then
    ahead[i] = ahead[i] + cost
    set(key, ahead[i], tonumber(ARGV[2 * i - 1]))
  elseif late[i] and cost > 0 then
    -- Store it, otherwise the bucket would stay full until this clock catches up.
    set(key, late[i], late[i])
  end
  reply[i + 1] = ahead[i]
end
return reply
