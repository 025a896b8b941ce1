-- Extends a lock to its full time, and replaces an earlier value of it: a lock that is
-- handed over gets a new one. Preceded by held.lua and token.lua.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  string: the last fencing token of the name
-- KEYS[3]  sorted set: its waiters
-- KEYS[4]  hash: the boot marker of this server; not on a Cluster
-- ARGV[1]  its value
-- ARGV[2]  ttl, milliseconds
-- ARGV[3]  '1': count a fencing token
-- ARGV[4…] earlier values, which a server that missed handovers still has
--
-- Reply    {1, token, number of waiters, fresh} or {0, 0, 0, 0}: another value; fresh:
--          1 if the counter of tokens is new

if not held(redis.pcall('GET', KEYS[1]), ARGV[1], 4) then
	return {0, 0, 0, 0}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local waiting = redis.call('ZCARD', KEYS[3])
local token, fresh = 0, 0
if ARGV[3] == '1' then
	token, fresh = count(KEYS[2], KEYS[4])
end
return {1, token, waiting, fresh}
