-- Shared by acquire.lua and show.lua, which are sent after this text.
--
-- quarantine returns for how many milliseconds a node of a Cluster must not vote, because it was
-- started recently and a lock that it has lost may still be held; 0 or less: it may vote.
-- Independent servers use the marker redlock:boot, which on a Cluster can be in another slot than
-- the lock, so quarantine uses the uptime by the server's own clock. The uptime is negative if the
-- clock was set to a time before the start.
local function quarantine(longest)
	local info = redis.call('INFO', 'server')
	-- The uptime is in whole seconds, and may be one second too high.
	local up = (tonumber(string.match(info, 'uptime_in_seconds:(-?%d+)')) - 1) * 1000
	return longest - up
end
