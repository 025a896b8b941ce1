-- Takes the lock, or joins the queue for it. Preceded by grant.lua,
-- quarantine.lua and token.lua.
--
-- KEYS[1]  the locked name
-- KEYS[2]  sorted set: its waiters, by time of arrival
-- KEYS[3]  string: the last fencing token of the name
-- KEYS[4]  hash: for each waiter, the time by which it asks again, in milliseconds by
--          this server's clock, and whether it listens for its grant ('1') or not ('0')
-- KEYS[5]  hash: the boot marker of this server; not on a Cluster
-- ARGV[1]  the value of the lock
-- ARGV[2]  ttl, milliseconds
-- ARGV[3]  this waiter in KEYS[2], manager:value; empty: the caller does not wait
-- ARGV[4]  the waiter's time of arrival by its own clock, microseconds
-- ARGV[5]  how long the queue outlives its last arrival, milliseconds
-- ARGV[6]  how long the lock is kept for the next waiter, milliseconds
-- ARGV[7]  number of fencing tokens to count
-- ARGV[8]  how long the waiter has been waiting, microseconds
-- ARGV[9]  on a Cluster the longest ttl in use, milliseconds; otherwise empty:
--          boot.lua checks the quarantine
-- ARGV[10] within how many milliseconds the waiter asks again
-- ARGV[11] '1': the waiter listens for its grant on this server; '0': it does not, or
--          this server cannot detect it
--
-- Reply    { 1, token, fresh}         held; the last token; fresh: 1 if the counter is
--                                     new
--          { 0, milliseconds, value}  held by another client for this time; empty
--                                     value: left free for other libraries
--          {-1, milliseconds}         quarantined: this server may have lost locks in
--                                     a restart and does not vote for this time
--          {-2, 0}                    the key is not a lock: it has another type, or
--                                     holds text of another form that never expires

local waiting = ARGV[3] ~= ''

local function join()
	if waiting then
		-- The time by the waiter's clock gives the waiter the same place on every server. It is
		-- not used if the clock is so wrong that the waiter would overtake others or never come
		-- first.
		local since = ARGV[4]
		local time = redis.call('TIME')
		local again = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[10]
		local likely = time[1] * 1000000 + time[2] - ARGV[8]
		if math.abs(likely - since) > 1000000 then
			since = string.format('%.0f', likely)
		end
		redis.call('ZADD', KEYS[2], since, ARGV[3])
		redis.call('PEXPIRE', KEYS[2], ARGV[5])
		redis.call('HSET', KEYS[4], ARGV[3], string.format('%.0f %s', again, ARGV[11]))
		redis.call('PEXPIRE', KEYS[4], ARGV[5])
	end
	return {0, redis.call('PTTL', KEYS[1]), string.sub(redis.call('GET', KEYS[1]) or '', 1, 64)}
end

local function held()
	if ARGV[7] == '0' then
		return {1, 0, 0}
	end
	return {1, count(KEYS[3], KEYS[5], tonumber(ARGV[7]))}
end

if ARGV[9] ~= '' then
	local left = quarantine(tonumber(ARGV[9]))
	if left > 0 then
		return {-1, left}
	end
end

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' or holder and not ours(holder) and redis.call('PTTL', KEYS[1]) < 0 then
	return {-2, 0}
end

if not holder then
	if waiting then
		local left = gap(KEYS[4])
		if left > 0 then
			join()
			return {0, left, ''}
		end
		local first = grant(KEYS[1], KEYS[2], KEYS[4], ARGV[6], ARGV[3])
		if first and first ~= ARGV[3] then
			return join()
		end
	end
	local answer = held() -- before SET, because held fails if the counter key holds something else
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return answer
end

if holder == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return held()
end

return join()
