-- Part of acquire.lua, which is sent after this text.
--
-- count returns the last of the next n fencing tokens of a counter, and whether the counter is
-- new: 1 or 0. The first token is at least the next full second of the server's clock, in
-- microseconds. Such a token is greater than every token counted up from an earlier second, even if
-- a counter was lost, and usually the same on all servers. The counter lives for a day.
--
-- A restarted server may have loaded from its disk a counter that lacks the last tokens. So each
-- run of the server counts from two seconds after it starts to vote, and restarts the counter of an
-- earlier run.
--
-- counter  string: the last fencing token of a name
-- boot     the boot marker of this server, see boot.lua; nil on a Cluster
local function count(counter, boot, n)
	local since = boot and redis.call('HGET', boot, 'since') or '0'
	local earliest = (tonumber(since) + 2000) * 1000
	local token = math.max((tonumber(redis.call('TIME')[1]) + 1) * 1000000, earliest) + n - 1
	local last = tonumber(redis.call('GET', counter) or '0')
	if not last then
		error('WRONGTYPE the counter of fencing tokens is not a number')
	end
	local fresh = 1
	if last >= earliest then
		token, fresh = math.max(last + n, token), 0
	end
	redis.call('SET', counter, string.format('%.0f', token), 'PX', 86400000)
	return token, fresh
end
