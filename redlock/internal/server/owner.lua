-- Writes the record of a holder, which expires with the lock, or removes the record if the lock is
-- gone or being released.
--
-- KEYS[1]  the locked name
-- KEYS[2]  hash: the record of the holder
-- ARGV[1]  the value of the lock
-- ARGV[2]  host, ARGV[3] process id
-- ARGV[4]  the start by the clock of the host, milliseconds
-- ARGV[5]  free text
-- ARGV[6]  '1': the lock is being released, possibly by a later script
--
-- Reply    1: the lock has this value; 0: the lock is gone or being released

local value = redis.call('HGET', KEYS[2], 'value')
if ARGV[6] == '1' or redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
	if value == ARGV[1] then
		redis.call('DEL', KEYS[2])
	end
	return 0
end
if value ~= ARGV[1] or redis.call('HGET', KEYS[2], 'since') ~= ARGV[4] then
	redis.call('DEL', KEYS[2])
	redis.call('HSET', KEYS[2], 'value', ARGV[1], 'host', ARGV[2], 'pid', ARGV[3], 'since', ARGV[4], 'text', ARGV[5])
end
redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
return 1
