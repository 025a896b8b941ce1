-- Extends a lock with this value to its full time, and changes its value if it is
-- handed over. Preceded by token.lua.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  string: the last fencing token of the name
-- KEYS[3]  sorted set: its waiters
-- KEYS[4]  hash: the boot marker of this server; not on a Cluster
-- ARGV[1]  the value it has
-- ARGV[2]  the new value; the same unless it is handed over
-- ARGV[3]  ttl, milliseconds
-- ARGV[4]  '1': count a fencing token
--
-- Reply    {1, token, number of waiters, fresh} or {0, 0, 0, 0}: another value; fresh:
--          1 if the counter of tokens is new

local holder = redis.pcall('GET', KEYS[1])
if holder ~= ARGV[1] then
	return {0, 0, 0, 0}
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
local waiting = redis.call('ZCARD', KEYS[3])
local token, fresh = 0, 0
if ARGV[4] == '1' then
	token, fresh = count(KEYS[2], KEYS[4])
end
return {1, token, waiting, fresh}
