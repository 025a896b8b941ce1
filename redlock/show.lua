-- Tells who holds a name on this server. Preceded by quarantine.lua.
--
-- KEYS[1]  the name
-- KEYS[2]  sorted set: who waits for it
-- KEYS[3]  hash: the boot marker of this server; absent on a Cluster
-- ARGV[1]  the longest ttl in use, milliseconds
--
-- Reply    {value, milliseconds left, how many wait, milliseconds in which this
--          server does not vote}; an empty value: nobody

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
	return redis.error_reply('WRONGTYPE the name holds something that is not a lock')
end
return {
	holder or '',
	redis.call('PTTL', KEYS[1]),
	redis.call('ZCARD', KEYS[2]),
	math.max(quarantine(KEYS[3], tonumber(ARGV[1])), 0),
}
