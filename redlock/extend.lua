-- Gives a lock that is ours its full time again, and a new value where it
-- passes to another holder. Preceded by token.lua.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  string: the last fencing token of the name
-- KEYS[3]  sorted set: who waits for it
-- KEYS[4]  hash: the boot marker of this server; not on a Cluster
-- ARGV[1]  the value it has
-- ARGV[2]  the value it gets; the same unless it changes hands
-- ARGV[3]  ttl, milliseconds
-- ARGV[4]  '1': count a fencing token
--
-- Reply    {1, token, how many wait, fresh} or {0, 0, 0, 0}: it is not ours; fresh: 1
--          if the counter of tokens was begun

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
