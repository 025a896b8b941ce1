-- Shared by acquire.lua and extend.lua, which are sent with this text in front.
--
-- count returns the next fencing token of a counter, and whether it had to begin
-- the counter: 1 or 0. The token is at least the server's clock at its next full
-- second, in microseconds: that is ahead of every token that was counted up from an
-- earlier second, also where a restart has lost the counter or its last steps, and the
-- same on all servers as a rule. The counter lives for a day.
local function count(counter)
	local last = redis.call('GET', counter)
	local clock = (tonumber(redis.call('TIME')[1]) + 1) * 1000000
	local token, fresh = clock, 1
	if last then
		token, fresh = math.max(tonumber(last) + 1, clock), 0
	end
	redis.call('SET', counter, string.format('%.0f', token), 'PX', 86400000)
	return token, fresh
end
