-- Takes from several limits: from all of them, or from none.
-- KEYS      the limits: each holds the theoretical arrival time (TAT) in microseconds, a dot,
--           and how far in the future the limit that last moved the TAT lets it be
-- ARGV      for each limit: how far the TAT may be in the future, and how far the
--           event moves the TAT, in microseconds; 0 takes nothing
-- Reply     1 if the event is allowed, otherwise 0; then, for each limit, how far its TAT is
--           in the future now, in microseconds. FOREIGN and the key if a key holds
--           something else; then nothing is written
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local longest = 4e14 -- longer than any bucket takes to empty, see maxSpan

local function set(key, ahead, span)
  redis.call('SET', key, string.format('%.0f.%.0f', now + ahead, span), 'PX', math.ceil(ahead / 1000))
end

local reply, ahead, late = { 1 }, {}, {}
for i, key in ipairs(KEYS) do
  local span, cost = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  -- GETEX counts as a write. After a write, a script can continue to write even if the memory of
  -- the server is full: limits must also hold then.
  local stored = redis.call(cost > 0 and 'GETEX' or 'GET', key)
  local tat, bound = now, span
  if stored then
    tat, bound = string.match(stored, '^(%d+)%.(%d+)$')
    if not tat then
      return redis.error_reply('FOREIGN ' .. key)
    end
    tat, bound = tonumber(tat), tonumber(bound)
    if bound < 1 or bound > longest then
      bound = span -- another program wrote the value
    end
  end
  ahead[i] = math.max(tat - now, 0)
  if ahead[i] > bound then
    ahead[i], late[i] = bound, bound -- the clock of another server was ahead
  end
  if ahead[i] + cost > span then
    reply[1] = 0
  end
end
for i, key in ipairs(KEYS) do
  local cost = tonumber(ARGV[2 * i])
  if reply[1] == 1 and cost > 0 then
    ahead[i] = ahead[i] + cost
    set(key, ahead[i], tonumber(ARGV[2 * i - 1]))
  elseif late[i] and cost > 0 then
    -- Store the TAT by this clock. Otherwise the bucket would stay full until this clock catches up.
    set(key, late[i], late[i])
  end
  reply[i + 1] = ahead[i]
end
return reply
