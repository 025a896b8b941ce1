-- Takes the lock, or waits in line for it. Preceded by grant.lua.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  sorted set: who waits for it, by the time since when
-- KEYS[3]  string: the last fencing token of the name
-- KEYS[4]  hash: the boot marker of this server; absent on a Cluster
-- ARGV[1]  the value that says who holds the lock
-- ARGV[2]  ttl, milliseconds
-- ARGV[3]  this waiter in KEYS[2], manager:value; empty: do not wait
-- ARGV[4]  since when it has been waiting, microseconds
-- ARGV[5]  how long the line is kept when nobody joins it, milliseconds
-- ARGV[6]  how long the lock is kept for the next in line, milliseconds
-- ARGV[7]  '1': count a fencing token
-- ARGV[8]  quarantine, milliseconds; empty: this server has been checked
--
-- Reply    { 1, token}         held
--          { 0, milliseconds}  held by another, for so long
--          {-1, milliseconds}  this server may have lost locks in a restart:
--                              it does not vote for so long
--          {-2, 0}             the name holds something that is not a lock

local waiting = ARGV[3] ~= ''

-- How long this server must not vote yet.
local function quarantine()
	local info = redis.call('INFO', 'server')
	local run = string.match(info, 'run_id:(%w+)')
	-- The server counts in whole seconds and may be ahead by one.
	local up = (tonumber(string.match(info, 'uptime_in_seconds:(%d+)')) - 1) * 1000
	local longest = tonumber(ARGV[8])
	if not KEYS[4] then
		return longest - up
	end
	local marker = redis.call('HMGET', KEYS[4], 'run', 'ttl')
	if marker[1] == run then
		return 0
	end
	longest = math.max(longest, tonumber(marker[2]) or 0)
	if up >= longest then
		redis.call('HSET', KEYS[4], 'run', run)
	end
	return longest - up
end

local function join()
	if waiting then
		redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
		redis.call('PEXPIRE', KEYS[2], ARGV[5])
	end
	return {0, redis.call('PTTL', KEYS[1])}
end

-- A counter that is lost goes on from the server's clock, which is ahead of
-- every token that was counted up from an earlier time.
local function token()
	if ARGV[7] ~= '1' then
		return 0
	end
	local last = redis.call('GET', KEYS[3])
	local now
	if last then
		now = tonumber(last) + 1
	else
		local time = redis.call('TIME')
		now = tonumber(time[1]) * 1000000 + tonumber(time[2])
	end
	redis.call('SET', KEYS[3], string.format('%.0f', now), 'PX', 86400000)
	return now
end

if ARGV[8] ~= '' then
	local left = quarantine()
	if left > 0 then
		return {-1, left}
	end
end

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
	return {-2, 0}
end

if not holder then
	if waiting then
		local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
		if first == ARGV[3] then
			redis.call('ZREM', KEYS[2], first)
		elseif first then
			grant(KEYS[1], KEYS[2], ARGV[6])
			return join()
		end
	end
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return {1, token()}
end

if holder == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return {1, token()}
end

return join()
