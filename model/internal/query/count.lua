-- Counts the entries of an index, the ids in sets of values, or all records, unless some of
-- them have expired.
--
-- KEYS 1 expires, 2 meta, then an index, or all, or sets of values
-- ARGV 1 what to count: key, the entries of the index, or all records; any, the ids in disjoint
--        sets; every, the ids in the intersection of the sets
--      2 maximum count, or 0
--      3 1: records expire
--      4 number of indexes that must be built, then their names in meta
--      then for key: ends of ranges for ZLEXCOUNT, or nothing for all entries
-- Reply the count; AGAIN if a record has expired; MANY if intersecting the sets would take too
-- long; or SCHEMA

local expires, meta, key = unpack(KEYS, 1, 3)
local what, limit = ARGV[1], tonumber(ARGV[2])
local last = 4 + ARGV[4] -- position of the last name
if last > 4 then
	for _, found in ipairs(redis.call('HMGET', meta, unpack(ARGV, 5, last))) do
		if not found then
			return 'SCHEMA'
		end
	end
end
if ARGV[3] == '1' then
	local time = redis.call('TIME')
	if #redis.call('ZRANGEBYSCORE', expires, '-inf', time[1] * 1000 + math.floor(time[2] / 1000), 'LIMIT', 0, 1) > 0 then
		return 'AGAIN'
	end
end

local total = 0
if what == 'key' and #ARGV == last then
	return redis.call('ZCARD', key)
elseif what == 'key' then
	for i = last + 1, #ARGV, 2 do
		total = total + redis.call('ZLEXCOUNT', key, ARGV[i], ARGV[i + 1])
	end
	return total
end

if what == 'any' or #KEYS == 3 then
	for i = 3, #KEYS do
		total = total + redis.call('ZCARD', KEYS[i])
	end
	return total
end
local smallest
for i = 3, #KEYS do
	local size = redis.call('ZCARD', KEYS[i])
	smallest = math.min(smallest or size, size)
	if smallest <= 20000 then
		break
	end
end
if smallest > 20000 then
	return 'MANY'
end
local keys = { unpack(KEYS, 3) }
keys[#keys + 1] = 'LIMIT'
keys[#keys + 1] = limit
local n = redis.pcall('ZINTERCARD', #KEYS - 2, unpack(keys))
if type(n) == 'number' then
	return n
elseif n.err:find('WRONGTYPE', 1, true) then
	return n
end
return #redis.call('ZINTER', #KEYS - 2, unpack(KEYS, 3)) -- Redis 6.2 has no ZINTERCARD
