-- Reads who holds a name on this server. Preceded by quarantine.lua.
--
-- KEYS[1]  the name
-- KEYS[2]  sorted set: who waits for it
-- KEYS[3]  hash: who holds it
-- ARGV[1]  on a Cluster the longest ttl in use, milliseconds; else empty: boot.lua
--          was asked
--
-- Reply    {value, milliseconds left, how many wait, milliseconds in which this
--          server does not vote, the hash}; an empty value: nobody
--          {-2, 0}  the name holds something that is not a lock

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
	return {-2, 0}
end
local left = 0
if ARGV[1] ~= '' then
	left = math.max(quarantine(tonumber(ARGV[1])), 0)
end
local owner = redis.pcall('HGETALL', KEYS[3])
return {holder or '', redis.call('PTTL', KEYS[1]), redis.call('ZCARD', KEYS[2]), left, owner.err and {} or owner}
