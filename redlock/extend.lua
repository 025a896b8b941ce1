-- Gives a lock that is ours its full time again, and a new value where it
-- passes to another holder.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  string: the last fencing token of the name
-- ARGV[1]  the value it has
-- ARGV[2]  the value it gets; the same unless it changes hands
-- ARGV[3]  ttl, milliseconds
-- ARGV[4]  '1': count a fencing token
--
-- Reply    {1, token} or {0, 0}: it is not ours

local holder = redis.pcall('GET', KEYS[1])
if holder ~= ARGV[1] then
	return {0, 0}
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if ARGV[4] ~= '1' then
	return {1, 0}
end
local last = tonumber(redis.call('GET', KEYS[2]) or 0)
if last == 0 then
	local time = redis.call('TIME')
	last = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
redis.call('SET', KEYS[2], string.format('%.0f', last + 1), 'PX', 86400000)
return {1, last + 1}
