-- Shared by acquire.lua and show.lua, which are sent after this text.
--
-- quarantine returns for how many milliseconds a node of a Cluster must not vote, because it was
-- started so recently that a lock that it forgot may still live; 0 or less: it may vote. The boot
-- marker used for independent servers would be in another slot, so this uses the uptime by the
-- server's own clock. It is negative if the clock was set to a time before the start.
local function quarantine(longest)
	local info = redis.call('INFO', 'server')
	-- The server counts whole seconds and may be ahead by one.
	local up = (tonumber(string.match(info, 'uptime_in_seconds:(-?%d+)')) - 1) * 1000
	return longest - up
end
