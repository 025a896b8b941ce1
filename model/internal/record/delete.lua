-- Deletes a record and all its index entries, unless a record refers to it by the rule
-- restrict.
--
-- KEYS 1 record, 2 content, 3 all, 4 meta, 5 expires, 6 voids, then the indexes, then the sets and lists of the record, then for each field that may refer
--      to it the meta of its model and its index, or the set of the records that refer,
--      then sets of values (see setsOf)
-- ARGV 1 id, 2 stamp of the declaration, 3 numbers of the indexes, 4 how many sets and
--      lists, 5 number of an index and 6 value that the record
--      must have, or nothing; a wrong entry is removed, 7 gone: only if there is no such
--      record, or nothing, 8 for each field that may refer, in one MessagePack list: stamp
--      of its declaration, from and to of the range of its index with the entries that
--      refer, or nothing: all, 1 if these must not exist while the record does, how many
--      members of the index to ignore, and these, 9 which keys are sets of values, 10 1: a
--      hash that the model did not write is a record
-- Reply TYPE: the key does not hold a hash, or FOREIGN: the model did not write it, and
-- nothing was changed; OK or NOTFOUND, with index and value of each unique value that must be
-- released; LEFT: it does not have the value, KEPT: it exists, SCHEMA; or REFERRED, the
-- number of the field and up to a hundred members of its index, or none if its model
-- has another declaration

local record, content, all, meta, expires = unpack(KEYS, 1, 5)
local id, stamp, slots, members, number, value, only, fields, values, adopted = unpack(ARGV, 1, 10)
setsOf(values)

if not writable(meta, stamp) then
	return 'SCHEMA'
end

local places, sorted, behind = placesOf(slots, 7)
local before = redis.call('HGET', content, id)
local entries = before and unpacked(before)

if number ~= '' then
	number = tonumber(number)
	local has = false
	for i = 2, entries and #entries or 0, 2 do
		has = has or entries[i] == number and entries[i + 1] == value
	end
	if not has then
		leave(places, sorted, id, number, value)
		return 'LEFT'
	end
end

local exists = redis.call('EXISTS', record) == 1
if exists and only == 'gone' then
	return 'KEPT'
elseif exists and not before then
	if call('TYPE', record).ok ~= 'hash' then
		return 'TYPE'
	elseif adopted ~= '1' and not call('ZSCORE', all, id) then
		return 'FOREIGN'
	end
end

local last = behind - 1 + tonumber(members)
local list, at, i = cmsgpack.unpack(fields), 1, last + 1
while at <= #list do
	local declared, from, to, restricts, ignored = unpack(list, at, at + 4)
	if restricts == 0 or exists then
		local reply = { 'REFERRED', (i - last - 1) / 2 }
		if not writable(KEYS[i], declared) then
			return reply
		end
		local ignore = {}
		for j = at + 5, at + 4 + ignored do
			ignore[list[j]] = true
		end
		local members
		if from == '' then
			members = redis.call('ZRANGE', KEYS[i + 1], 0, 99 + ignored)
		else
			members = redis.call('ZRANGE', KEYS[i + 1], from, to, 'BYLEX', 'LIMIT', 0, 100 + ignored)
		end
		for _, member in ipairs(members) do
			if not ignore[member] then
				reply[#reply + 1] = member
			end
		end
		if #reply > 2 then
			return reply
		end
	end
	at, i = at + 5 + ignored, i + 2
end

local unknown = { 'KEYS' }
lacking(unknown, entries or {})
if #unknown > 1 then
	return unknown
end

sound(places, sorted, all, expires, { entries or {} })
redis.call('UNLINK', record)
for i = behind, last do
	redis.call('UNLINK', KEYS[i])
end
local left = { exists and 'OK' or 'NOTFOUND' }
if entries then
	for i = 2, #entries, 2 do
		if places[entries[i]] == 0 then
			left[#left + 1] = entries[i]
			left[#left + 1] = entries[i + 1]
		end
	end
	forget(places, sorted, id, entries, content, all, expires)
end
return #left > 1 and left or left[1]
