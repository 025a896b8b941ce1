-- Tells which server this is, and keeps the longest ttl in use in its boot
-- marker: that is how long a server that lost its keys must not vote.
--
-- KEYS[1]  hash: the boot marker of this server
-- ARGV[1]  the ttl of this manager, milliseconds
-- ARGV[2]  '1': this server has every lock that was given, let it vote
--
-- Reply    {run id of the server, longest ttl in milliseconds}

local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local longest = tonumber(redis.call('HGET', KEYS[1], 'ttl')) or 0
if longest < tonumber(ARGV[1]) then
	longest = tonumber(ARGV[1])
	redis.call('HSET', KEYS[1], 'ttl', ARGV[1])
end
if ARGV[2] == '1' then
	redis.call('HSET', KEYS[1], 'run', run)
end
return {run, longest}
