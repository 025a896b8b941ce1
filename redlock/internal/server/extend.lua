-- Extends a lock to its full ttl. PEXPIRE works even when the server's memory is full.
--
-- KEYS[1]  the locked name
-- ARGV[1]  the value of the lock
-- ARGV[2]  ttl, milliseconds
--
-- Reply    1: extended; 0: another value

if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
