-- Returns the records that are in each of some sets, all of them, in the order of creation.
-- This is what select.lua does, for the common case in which it is little work.
--
-- KEYS 1 expires, 2 meta, then the sets
-- ARGV 1 1: records expire, 2 of one set: how many records to return; of several: how many
--      the smallest may have, 3 1: from the end, if there is one set, 4 1: without scores, if
--      there are several, then the names in meta of the indexes that must be built
-- Reply id and score of each record, or only the ids; OTHERWISE: select.lua must do it; or SCHEMA

if #ARGV > 4 then
	for _, is in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, 5))) do
		if not is then
			return 'SCHEMA'
		end
	end
end
if ARGV[1] == '1' then
	local time = redis.call('TIME')
	if #redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', time[1] * 1000 + math.floor(time[2] / 1000), 'LIMIT', 0, 1) > 0 then
		return 'OTHERWISE'
	end
end
local most = tonumber(ARGV[2])
if #KEYS == 3 then
	return redis.call(ARGV[3] == '1' and 'ZREVRANGE' or 'ZRANGE', KEYS[3], 0, most - 1, 'WITHSCORES')
end
for i = 3, #KEYS do
	if redis.call('ZCARD', KEYS[i]) <= most then
		if ARGV[4] == '1' then
			return redis.call('ZINTER', #KEYS - 2, unpack(KEYS, 3))
		end
		local keys = { unpack(KEYS, 3) }
		keys[#keys + 1] = 'AGGREGATE'
		keys[#keys + 1] = 'MAX'
		keys[#keys + 1] = 'WITHSCORES'
		return redis.call('ZINTER', #KEYS - 2, unpack(keys))
	end
end
return 'OTHERWISE'
