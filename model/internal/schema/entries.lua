-- The beginning of scripts that read or write index entries.
--
-- The content of a record is a MessagePack list: the millisecond at which it expires or
-- 0, then number and value of each entry. A member of a sorted set is the value
-- followed by the id.

local call = redis.call -- looked up once

-- placesOf returns the places of the indexes by their numbers: the position in KEYS, or
-- 0 for a unique index in other slots. Positions from the second result on are sorted
-- sets, lower ones unique indexes.
--
-- slots   a MessagePack list: how many of KEYS are unique indexes, how many sorted sets,
--         then the numbers of these, and of the unique indexes in other slots
-- first   the position of the first one
local function placesOf(slots, first)
	local list = cmsgpack.unpack(slots)
	local here = list[1] + list[2]
	local places = {}
	for i = 1, #list - 2 do
		places[list[i + 2]] = i <= here and first + i - 1 or 0
	end
	return places, first + list[1], first + here
end

local function enter(places, sorted, id, number, value)
	local place = places[number]
	if place >= sorted then
		call('ZADD', KEYS[place], '0', value .. id)
	elseif place > 0 then
		call('HSET', KEYS[place], value, id)
	end
end

local function leave(places, sorted, id, number, value)
	local place = places[number]
	if place >= sorted then
		call('ZREM', KEYS[place], value .. id)
	elseif place > 0 and call('HGET', KEYS[place], value) == id then
		call('HDEL', KEYS[place], value)
	end
end

-- now returns the time of the server in milliseconds, and in microseconds.
local function now()
	local time = call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end

-- unpacked returns a content as a list, and true; an empty list if it is missing or
-- damaged.
local function unpacked(content)
	local ok, entries = pcall(cmsgpack.unpack, content or '')
	if not ok or type(entries) ~= 'table' or type(entries[1]) ~= 'number' or #entries % 2 == 0 then
		return { 0 }, false
	end
	for i = 2, #entries, 2 do
		if type(entries[i]) ~= 'number' or type(entries[i + 1]) ~= 'string' then
			return { 0 }, false
		end
	end
	return entries, true
end

-- has reports whether an unexpired record has an entry, by its content.
local function has(entries, number, value)
	if entries[1] ~= 0 and entries[1] <= now() then
		return false
	end
	for i = 2, #entries, 2 do
		if entries[i] == number and entries[i + 1] == value then
			return true
		end
	end
	return false
end

-- forget removes a record from all indexes.
--
-- content, all, expires   the keys
-- entries                 its content, unpacked
local function forget(places, sorted, id, entries, content, all, expires)
	for i = 2, #entries, 2 do
		if places[entries[i]] then
			leave(places, sorted, id, entries[i], entries[i + 1])
		end
	end
	call('HDEL', content, id)
	call('ZREM', all, id)
	if entries[1] ~= 0 then
		call('ZREM', expires, id)
	end
end

-- told appends a change to the stream, if there is one.
--
-- field   the counter, set or list that was changed, or nothing
local function told(changes, cap, operation, id, field)
	if cap == '0' then
		return
	end
	if field then
		call('XADD', changes, 'MAXLEN', '~', cap, '*', 'op', operation, 'id', id, 'field', field)
	else
		call('XADD', changes, 'MAXLEN', '~', cap, '*', 'op', operation, 'id', id)
	end
end

-- writable reports whether a caller may write, by the digest of its declaration and the
-- token of its numbers of the indexes. The second result is true if records wait for
-- unique values.
local function writable(meta, stamp)
	local found = call('HMGET', meta, 'digest', 'also', 'token', 'waiting')
	local token = found[3] or ''
	return stamp == (found[1] or '') .. token or found[2] and stamp == found[2] .. token, found[4]
end

-- inForce reports whether the declaration of a caller is in force.
local function inForce(meta, stamp)
	local found = call('HMGET', meta, 'digest', 'token')
	return stamp == (found[1] or '') .. (found[2] or '')
end

-- sound fails, before anything is written, if a key to be written holds a value of
-- another type.
--
-- all, expires   sorted sets, or nothing: they are not written
-- changes        a stream, if changes are kept
-- lists          of entries whose indexes will be written; nil: all of places
local function sound(places, sorted, all, expires, changes, cap, lists)
	if all then
		call('ZCARD', all)
	end
	if expires then
		call('ZCARD', expires)
	end
	if cap ~= '0' then
		call('XLEN', changes)
	end
	local function check(place)
		if place and place > 0 then
			call(place < sorted and 'HLEN' or 'ZCARD', KEYS[place])
		end
	end
	if not lists then
		for _, place in pairs(places) do
			check(place)
		end
		return
	end
	for _, entries in ipairs(lists) do
		for i = 2, #entries, 2 do
			check(places[entries[i]])
		end
	end
end
