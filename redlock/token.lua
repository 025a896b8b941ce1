-- Shared by acquire.lua and extend.lua, which are sent with this text in front.
--
-- count returns the next fencing token of a counter. A counter that is not there
-- starts from the server's clock, at its next full second in microseconds: ahead
-- of every token that was counted up from an earlier second, and the same on all
-- servers as a rule. It lives for a day.
local function count(counter)
	local last = redis.call('GET', counter)
	local token
	if last then
		token = tonumber(last) + 1
	else
		token = (tonumber(redis.call('TIME')[1]) + 1) * 1000000
	end
	redis.call('SET', counter, string.format('%.0f', token), 'PX', 86400000)
	return token
end
