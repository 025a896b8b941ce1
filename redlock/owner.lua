-- Keeps the record of who holds a name for as long as the lock lives, and removes it
-- where the lock is gone.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  hash: who holds it
-- ARGV[1]  the value of the lock
-- ARGV[2]  the value of the lock before, or empty
-- ARGV[3]  host, ARGV[4] process id
-- ARGV[5]  since when by the clock of the host, milliseconds
-- ARGV[6]  free text
-- ARGV[7]  '1': the lock is given back, perhaps by a script that is run after this one
--
-- Reply    1 it is the lock, 0 it is gone

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
