-- Releases the lock if it has this value, and hands the name to the next waiter:
-- immediately or, when the script is called again, after a gap in which the name is free.
-- Preceded by grant.lua.
--
-- KEYS[1]  the locked name
-- KEYS[2]  sorted set: its waiters
-- KEYS[3]  hash: for each waiter, its last attempt, see acquire.lua; 'free': the
--          end of the current gap, milliseconds
-- ARGV[1]  how long the lock is kept for the next waiter, milliseconds
-- ARGV[2]  a waiter to remove from the queue, manager:value, or empty
-- ARGV[3]  the value of the lock
-- ARGV[4]  how long the name is left free, milliseconds, or 0
-- ARGV[5]  the minimum time since the last gap, milliseconds
--
-- Reply    1: released; 0: another value; 2: the value of another library

if ARGV[2] ~= '' then
	redis.call('ZREM', KEYS[2], ARGV[2])
	redis.call('HDEL', KEYS[3], ARGV[2])
end
local holder = redis.pcall('GET', KEYS[1])
if holder ~= ARGV[3] then
	if not holder and gap(KEYS[3]) == 0 then
		grant(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
	end
	return type(holder) == 'string' and not ours(holder) and 2 or 0
end
if ARGV[4] ~= '0' then
	local now = milliseconds()
	local last = redis.call('HGET', KEYS[3], 'free')
	if not last or math.abs(now - last) >= tonumber(ARGV[5]) then
		redis.call('DEL', KEYS[1])
		redis.call('HSET', KEYS[3], 'free', string.format('%.0f', now + ARGV[4]))
		if redis.call('PTTL', KEYS[3]) < 0 then
			redis.call('PEXPIRE', KEYS[3], ARGV[4] + ARGV[5])
		end
		return 1
	end
end
if not grant(KEYS[1], KEYS[2], KEYS[3], ARGV[1]) then
	redis.call('DEL', KEYS[1])
end
return 1
