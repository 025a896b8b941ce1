-- Shared by acquire.lua and extend.lua, which are sent with this text in front.
--
-- count returns the next fencing token of a counter, and whether it had to begin
-- the counter: 1 or 0. A counter that is not there
-- starts from the server's clock, at its next full second in microseconds: ahead
-- of every token that was counted up from an earlier second, and the same on all
-- servers as a rule. It lives for a day.
local function count(counter)
	local last = redis.call('GET', counter)
	local token, fresh
	if last then
		token, fresh = tonumber(last) + 1, 0
	else
		token, fresh = (tonumber(redis.call('TIME')[1]) + 1) * 1000000, 1
	end
	redis.call('SET', counter, string.format('%.0f', token), 'PX', 86400000)
	return token, fresh
end
