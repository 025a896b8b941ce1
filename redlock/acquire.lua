-- Takes the lock, or waits in line for it. Preceded by grant.lua,
-- quarantine.lua and token.lua.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  sorted set: who waits for it, by the time since when
-- KEYS[3]  string: the last fencing token of the name
-- KEYS[4]  hash: of each waiter, the number of its last attempt, the time by which
--          it asks again on this server's clock, in milliseconds, and whether it
--          listens for its grant ('1') or not ('0')
-- KEYS[5]  hash: the boot marker of this server; not on a Cluster
-- ARGV[1]  the value that says who holds the lock
-- ARGV[2]  ttl, milliseconds
-- ARGV[3]  this waiter in KEYS[2], manager:value; empty: do not wait
-- ARGV[4]  since when it has been waiting by its own clock, microseconds
-- ARGV[5]  how long the line is kept when nobody joins it, milliseconds
-- ARGV[6]  how long the lock is kept for the next in line, milliseconds
-- ARGV[7]  '1': count a fencing token
-- ARGV[8]  for how long it has been waiting, microseconds
-- ARGV[9]  on a Cluster the longest ttl in use, milliseconds; else empty:
--          boot.lua was asked
-- ARGV[10] the number of this attempt
-- ARGV[11] within how many milliseconds the waiter asks again
-- ARGV[12] '1': it listens for its grant on this server, '0': it does not, or
--          not where this server can tell
--
-- Reply    { 1, token, fresh}         held; fresh: 1 if the counter of tokens was begun
--          { 0, milliseconds, value}  held by another, for so long; an empty
--                                     value: left to those who do not wait in line
--          {-1, milliseconds}         this server may have lost locks in a
--                                     restart: it does not vote for so long
--          {-2, 0}                    the name holds something that is not a lock

local waiting = ARGV[3] ~= ''

local function join()
	if waiting then
		-- The waiter's clock puts it in the same place on every server, unless
		-- it is so wrong that it would push in, or never come first.
		local since = ARGV[4]
		local time = redis.call('TIME')
		local again = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[11]
		local likely = time[1] * 1000000 + time[2] - ARGV[8]
		if math.abs(likely - since) > 1000000 then
			since = string.format('%.0f', likely)
		end
		redis.call('ZADD', KEYS[2], since, ARGV[3])
		redis.call('PEXPIRE', KEYS[2], ARGV[5])
		redis.call('HSET', KEYS[4], ARGV[3], string.format('%s %.0f %s', ARGV[10], again, ARGV[12]))
		redis.call('PEXPIRE', KEYS[4], ARGV[5])
	end
	return {0, redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[1])}
end

local function held()
	if ARGV[7] ~= '1' then
		return {1, 0, 0}
	end
	return {1, count(KEYS[3], KEYS[5])}
end

if ARGV[9] ~= '' then
	local left = quarantine(tonumber(ARGV[9]))
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
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
	return held()
end

if holder == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return held()
end

return join()
