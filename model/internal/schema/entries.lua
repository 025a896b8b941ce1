-- The places of indexes, for scripts that find them by their numbers. Scripts begin with
-- enter.lua, then this.

-- placesOf returns the places of the indexes by their numbers: the position in KEYS, or
-- 0 for a unique index in other slots. Positions from the second result on are sorted
-- sets, lower ones unique indexes. The third result is the position after the last one.
--
-- slots   a MessagePack list: how many of KEYS are unique indexes, sorted sets, and
--         directories of values, then the numbers of these, and of the unique indexes
--         in other slots
-- first   the position of the first one
local perValue = {} -- the numbers of the indexes with a set for each value
local function placesOf(slots, first)
	local list = cmsgpack.unpack(slots)
	local directories = list[1] + list[2]
	local here = directories + list[3]
	local places = {}
	for i = 1, #list - 3 do
		local number = list[i + 3]
		places[number] = i <= here and first + i - 1 or 0
		if i > directories and i <= here then
			perValue[number] = true
		end
	end
	return places, first + list[1], first + here
end

-- setsOf reads which of KEYS are the sets of values: a MessagePack list of the position
-- of the first one, then number and value of each, or nothing. It returns the position of
-- the first one, or that after all keys.
local sets = {} -- positions by number, then by value
local function setsOf(packed)
	local list = packed ~= '' and cmsgpack.unpack(packed) or { #KEYS + 1 }
	for i = 2, #list, 2 do
		local byValue = sets[list[i]]
		if not byValue then
			byValue = {}
			sets[list[i]] = byValue
		end
		byValue[list[i + 1]] = list[1] + i / 2 - 1
	end
	return list[1]
end

-- setOf returns the position of the set of a value; nil if it is not among KEYS.
local function setOf(number, value)
	local byValue = sets[number]
	return byValue and byValue[value]
end

-- lacking appends number and value of the entries to a list whose sets are not among
-- KEYS. A script that needs these writes nothing and replies KEYS with the list.
local function lacking(list, entries)
	for i = 2, #entries, 2 do
		if perValue[entries[i]] and not setOf(entries[i], entries[i + 1]) then
			list[#list + 1] = entries[i]
			list[#list + 1] = entries[i + 1]
		end
	end
end

-- positionsOf returns the positions that enterAt takes; nothing if the index is in another
-- slot.
local function positionsOf(places, sorted, number, value)
	local place = places[number]
	if perValue[number] then
		return setOf(number, value), place
	elseif place > 0 then
		return place, place < sorted and inHash or inSortedSet
	end
end

local function enter(places, sorted, id, number, value, score)
	local at, directory = positionsOf(places, sorted, number, value)
	if directory then
		enterAt(at, directory, id, value, score)
	end
end

local function leave(places, sorted, id, number, value)
	local at, directory = positionsOf(places, sorted, number, value)
	if directory then
		leaveAt(at, directory, id, value)
	end
end

-- scoreOf returns the score of a record. A record without one gets a new one.
local function scoreOf(all, id, score)
	local found = call('ZSCORE', all, id)
	if not found then
		found = newScore(all, score)
		call('ZADD', all, found, id)
	end
	return found
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

-- inForce reports whether the declaration of a caller is in force.
local function inForce(meta, stamp)
	local found = call('HMGET', meta, 'digest', 'token')
	return stamp == (found[1] or '') .. (found[2] or '')
end

-- sound fails, before anything is written, if a key to be written holds a value of
-- another type.
--
-- all, expires   sorted sets, or nothing: they are not written
-- lists          of entries whose indexes will be written; nil: all of places, and all
--                sets
local function sound(places, sorted, all, expires, lists)
	if all then
		call('ZCARD', all)
	end
	if expires then
		call('ZCARD', expires)
	end
	local function check(place)
		if place and place > 0 then
			call(place < sorted and 'HLEN' or 'ZCARD', KEYS[place])
		end
	end
	local function checkSet(at)
		if at and not sizes[at] then
			sizes[at] = call('ZCARD', KEYS[at])
		end
		return sizes[at]
	end
	if not lists then
		for _, place in pairs(places) do
			check(place)
		end
		for _, byValue in pairs(sets) do
			for _, at in pairs(byValue) do
				checkSet(at)
			end
		end
		return
	end
	for _, entries in ipairs(lists) do
		for i = 2, #entries, 2 do
			local number = entries[i]
			if not perValue[number] then
				check(places[number])
			elseif (checkSet(setOf(number, entries[i + 1])) or 2) < 2 then
				check(places[number]) -- the directory changes with the first id and the last
			end
		end
	end
end
