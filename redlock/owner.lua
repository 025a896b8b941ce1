-- Keeps the record of a holder as long as the lock lives, and removes it if the lock is
-- gone.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  hash: its holder
-- ARGV[1]  the value of the lock
-- ARGV[2]  the previous value of the lock, or empty
-- ARGV[3]  host, ARGV[4] process id
-- ARGV[5]  since when by the clock of the host, milliseconds
-- ARGV[6]  free text
-- ARGV[7]  '1': the lock is being released, possibly by a later script
--
-- Reply    1: the lock has this value; 0: it is gone

local value = redis.call('HGET', KEYS[2], 'value')
if ARGV[7] == '1' or redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
	if value == ARGV[1] or value and value == ARGV[2] then
		redis.call('DEL', KEYS[2])
	end
	return 0
end
if value ~= ARGV[1] then
	redis.call('DEL', KEYS[2])
	redis.call('HSET', KEYS[2], 'value', ARGV[1], 'host', ARGV[3], 'pid', ARGV[4], 'since', ARGV[5], 'text', ARGV[6])
end
redis.call('PEXPIRE', KEYS[2], redis.call('PTTL', KEYS[1]))
return 1
