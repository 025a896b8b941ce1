-- Extends a lock to its full time. PEXPIRE works when the memory of the server is full.
--
-- KEYS[1]  the name that is locked
-- ARGV[1]  its value
-- ARGV[2]  ttl, milliseconds
--
-- Reply    1: extended; 0: another value

if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
