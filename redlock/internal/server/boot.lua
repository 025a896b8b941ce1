-- Reports whether this server may vote, which run of the server process it is, and
-- which times to live are in use on it.
--
-- A restarted server may have lost locks, so it is quarantined until the longest lock has expired.
-- The server's own clock cannot measure that time: a clock that is set, for example by NTP after a
-- boot, makes the server look older than it is. Two other measures are used:
--
--   - A manager sends the time since the first reply of this run, by the clock of its
--     machine, which cannot be set. The marker keeps the first reading of each such
--     clock, so that the next process of the same machine can use it.
--   - The main thread cannot have used more CPU time than has passed. This measure
--     avoids the wait on a server that has been up for a long time.
--
-- The first manager with a sufficient measure records for all managers that the run votes.
--
-- KEYS[1]  hash: the boot marker of this server
-- ARGV[1]  the times to live that this manager is about to use, milliseconds,
--          separated by blanks; may be empty
-- ARGV[2]  the longest time to live that is known to be in use, milliseconds
-- ARGV[3]  the run that last answered this manager, or empty
-- ARGV[4]  the ID of the manager's clock
-- ARGV[5]  the reading of that clock after the first reply of the run, milliseconds
-- ARGV[6]  the reading of that clock when the call was sent
-- ARGV[7]  '1': this server has lost no locks: skip the quarantine
--
-- Reply    {how many milliseconds this server must not vote; 0: it may vote,
--          run ID, longest ttl on record in milliseconds; 0: none,
--          since when it votes, by its clock in milliseconds; 0: unknown}

local marker = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local info = redis.call('INFO', 'server')
local run = string.match(info, 'run_id:(%w+)')

local known = {}
local fields = redis.call('HGETALL', marker)
for i = 1, #fields, 2 do
	known[fields[i]] = fields[i + 1]
end

local function set(field, value)
	known[field] = value
	redis.call('HSET', marker, field, value)
end

local function remove(field)
	known[field] = nil
	redis.call('HDEL', marker, field)
end

-- declare records that a ttl is in use, at most every ten seconds.
local function declare(ttl)
	local last = tonumber(known['ttl:' .. ttl])
	if not last or math.abs(now - last) > 10000 then
		set('ttl:' .. ttl, string.format('%.0f', now))
	end
end

-- longest returns the longest ttl on record, and removes old records. A manager that uses a ttl
-- declares it again at least every ttl plus 30 seconds, and its last lock lives for another ttl.
local function longest()
	local max = 0
	for field, last in pairs(known) do
		local ttl = tonumber(string.match(field, '^ttl:(%d+)$'))
		if ttl and now - tonumber(last) > 2 * ttl + 60000 then
			redis.call('HDEL', marker, field)
		elseif ttl then
			max = math.max(max, ttl)
		end
	end
	return max
end

-- forget removes the record of a quarantined run.
local function forget()
	for field in pairs(known) do
		if field == 'new' or string.sub(field, 1, 6) == 'clock:' then
			remove(field)
		end
	end
end

-- measured returns the minimum uptime of this run, by the clock of the calling manager.
local function measured()
	if known.new ~= run then
		forget()
		set('new', run)
	end
	if ARGV[3] ~= run then
		return 0
	end
	local field, since = 'clock:' .. ARGV[4], tonumber(ARGV[5])
	local first = tonumber(known[field])
	if first and first <= since then
		since = first
	elseif redis.call('HLEN', marker) < 256 then
		set(field, ARGV[5])
	end
	return tonumber(ARGV[6]) - since
end

-- used returns the CPU time of the main thread, or 0 on systems that do not report it. CPU time
-- used before a restart that keeps the process (DEBUG RESTART) does not count.
local function used()
	local cpu = redis.call('INFO', 'cpu')
	local system = tonumber(string.match(cpu, 'used_cpu_sys_main_thread:([%d.]+)')) or 0
	local user = tonumber(string.match(cpu, 'used_cpu_user_main_thread:([%d.]+)')) or 0
	-- The uptime is in whole seconds, and may be one second too high. It is negative if the
	-- clock was set to a time before the start.
	local up = tonumber(string.match(info, 'uptime_in_seconds:(-?%d+)')) or 0
	return math.floor(math.min((system + user) * 1000, (up - 1) * 1000))
end

-- vote records that this run votes.
local function vote()
	forget()
	set('run', run)
	set('since', string.format('%.0f', now))
end

-- Earlier versions recorded a single ttl without the time of its use.
if known.ttl then
	declare(known.ttl)
	remove('ttl')
end
for ttl in string.gmatch(ARGV[1], '%d+') do
	declare(ttl)
end
local recorded = longest()

if known.run ~= run then
	local left = math.max(recorded, tonumber(ARGV[2])) - math.max(measured(), used())
	if left > 0 and ARGV[7] ~= '1' then
		return {math.ceil(left), run, recorded, 0}
	end
	vote()
end
return {0, run, recorded, tonumber(known.since) or 0}
