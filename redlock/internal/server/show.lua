-- Reads the holder of a name on this server. Preceded by quarantine.lua.
--
-- KEYS[1]  the name
-- KEYS[2]  sorted set: its waiters
-- KEYS[3]  hash: the record of the holder
-- ARGV[1]  on a Cluster the longest ttl in use, milliseconds; otherwise empty: boot.lua
--          checks the quarantine
--
-- Reply    {the first 64 bytes of the value, milliseconds left, number of waiters,
--          milliseconds for which this server does not vote, the hash}; an empty value
--          means that the name is free
--          {-2, 0}  the key has another type, or holds empty text

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' or holder == '' then
	return {-2, 0}
end
local left = 0
if ARGV[1] ~= '' then
	left = math.max(quarantine(tonumber(ARGV[1])), 0)
end
local owner = redis.pcall('HGETALL', KEYS[3])
return {string.sub(holder or '', 1, 64), redis.call('PTTL', KEYS[1]), redis.call('ZCARD', KEYS[2]), left, owner.err and {} or owner}
