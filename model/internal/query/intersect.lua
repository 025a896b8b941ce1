-- Returns all records in the intersection of sets, in creation order. It replaces select.lua in
-- the common case of small sets.
--
-- KEYS 1 expires, 2 meta, 3 all, then the sets
-- ARGV 1 1: records expire
--      2 number of records wanted
--      3 1: from the end; only for a single set
--      4 1: without scores; only for several sets
--      5 maximum number of ids in the smallest of several sets
--      then the names in meta of the indexes that must be built
-- Reply id and score of each record, or only the ids; OTHERWISE: use select.lua; or SCHEMA

if #ARGV > 5 then
	for _, built in ipairs(redis.call('HMGET', KEYS[2], unpack(ARGV, 6))) do
		if not built then
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
local want = tonumber(ARGV[2])
if #KEYS == 4 then
	return redis.call(ARGV[3] == '1' and 'ZREVRANGE' or 'ZRANGE', KEYS[4], 0, want - 1, 'WITHSCORES')
end
local sizes = {}
for i = 4, #KEYS do
	sizes[i - 3] = redis.call('ZCARD', KEYS[i])
end
if not atOnce(sizes, KEYS[3], want, tonumber(ARGV[5])) then
	return 'OTHERWISE'
end
if ARGV[4] == '1' then
	return redis.call('ZINTER', #KEYS - 3, unpack(KEYS, 4))
end
local keys = { unpack(KEYS, 4) }
keys[#keys + 1] = 'AGGREGATE'
keys[#keys + 1] = 'MAX'
keys[#keys + 1] = 'WITHSCORES'
return redis.call('ZINTER', #KEYS - 3, unpack(keys))
