-- Shared by acquire.lua and show.lua, which are sent with this text in front.
--
-- quarantine returns for how many milliseconds a server of a Cluster must not vote
-- yet, because it was started so recently that a lock which it forgot may live; 0
-- or less: it may. The boot marker of a server that stands alone is in another
-- slot, so what counts here is how long the server has been up by its own clock.
-- That is negative where the clock was set to before the start.
local function quarantine(longest)
	local info = redis.call('INFO', 'server')
	-- The server counts in whole seconds and may be ahead by one.
	local up = (tonumber(string.match(info, 'uptime_in_seconds:(-?%d+)')) - 1) * 1000
	return longest - up
end
