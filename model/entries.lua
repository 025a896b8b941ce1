-- What scripts that change records begin with: what a record has in the indexes.
--
-- The content of a record is a MessagePack list: the millisecond at which it
-- expires or 0, then the number of an index and a value, in turn. Within a sorted
-- set a member is the value and then the id.

-- places tells which key an index has by its number.
--
-- slots   'u1z2n3': a unique index, a sorted set, one that is kept elsewhere
-- first   where in KEYS those of the first two begin
local function placesOf(slots, first)
	local places = {}
	for kind, number in slots:gmatch('(%a)(%d+)') do
		local place = { kind = kind }
		if kind ~= 'n' then
			place.key = KEYS[first]
			first = first + 1
		end
		places[tonumber(number)] = place
	end
	return places
end

local function enter(places, id, number, value)
	local place = places[number]
	if place.kind == 'z' then
		redis.call('ZADD', place.key, '0', value .. id)
	elseif place.kind == 'u' then
		redis.call('HSET', place.key, value, id)
	end
end

local function leave(places, id, number, value)
	local place = places[number]
	if place.kind == 'z' then
		redis.call('ZREM', place.key, value .. id)
	elseif place.kind == 'u' and redis.call('HGET', place.key, value) == id then
		redis.call('HDEL', place.key, value)
	end
end

-- now is the time of the server in milliseconds, and in microseconds.
local function now()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end

-- forget takes a record out of all indexes.
--
-- content, all, expires   the keys
-- entries                 its content, unpacked
local function forget(places, id, entries, content, all, expires)
	for i = 2, #entries, 2 do
		if places[entries[i]] then
			leave(places, id, entries[i], entries[i + 1])
		end
	end
	redis.call('HDEL', content, id)
	redis.call('ZREM', all, id)
	if entries[1] ~= 0 then
		redis.call('ZREM', expires, id)
	end
end

-- told adds a change to the stream, where one is kept.
local function told(changes, cap, operation, id)
	if cap ~= '0' then
		redis.call('XADD', changes, 'MAXLEN', '~', cap, '*', 'op', operation, 'id', id)
	end
end

-- writable tells whether a caller with a digest of its declaration may write.
local function writable(meta, digest)
	local may = redis.call('HMGET', meta, 'digest', 'also')
	return may[1] == digest or may[2] == digest
end
