-- Shared by check.lua and acquire.lua, which are sent with this text in front.
--
-- quarantine returns for how many milliseconds this server must not vote yet,
-- because it was started so lately that a lock which it forgot may live; 0 or
-- less: it may. The marker, a hash, knows the run of the server that may, and
-- the longest ttl in use; without one, all that counts is how long the server
-- has been up.
local function quarantine(marker, longest)
	local info = redis.call('INFO', 'server')
	local run = string.match(info, 'run_id:(%w+)')
	-- The server counts in whole seconds and may be ahead by one.
	local up = (tonumber(string.match(info, 'uptime_in_seconds:(%d+)')) - 1) * 1000
	if not marker then
		return longest - up
	end
	local known = redis.call('HMGET', marker, 'run', 'ttl')
	if known[1] == run then
		return 0
	end
	longest = math.max(longest, tonumber(known[2]) or 0)
	if up >= longest then
		redis.call('HSET', marker, 'run', run)
	end
	return longest - up
end
