-- Tells who holds a name on this server.
--
-- KEYS[1]  the name
-- KEYS[2]  sorted set: who waits for it
--
-- Reply    {value, milliseconds left, how many wait}; an empty value: nobody

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
	return redis.error_reply('WRONGTYPE the name holds something that is not a lock')
end
return {holder or '', redis.call('PTTL', KEYS[1]), redis.call('ZCARD', KEYS[2])}
