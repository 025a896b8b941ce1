-- Writes a record that exists and has the content that the caller expects: then the caller
-- knows which entries it enters and leaves. Preceded by enter.lua.
--
-- KEYS 1 content, 2 meta, 3 all, 4 the record, then the indexes that it enters or leaves, and
--      the sets of values
-- ARGV 1 stamp of the declaration, 2 id, 3 the expected content, 4 the new one, 5 the entries
--      that it enters, and 6 those that it leaves: a MessagePack list of 0, and for each entry
--      the two positions that enterAt takes, and the value, 7 name of the version field, or
--      nothing, and 8 the version, 9 the digest of some fields, or nothing, 10 so many names
--      of these, and these; so many names of fields to return, and these; so many names of
--      fields to delete, and these; then the names and values to write
-- Reply OK, or a list of the values to return; or the content of the record, or nothing:
-- nothing was written, write.lua decides

local content, meta, all, record = unpack(KEYS, 1, 4)
local stamp, id, before, after, entered, left, versionField, version, digest = unpack(ARGV, 1, 9)

local may = writable(meta, stamp)
local found = call('HGET', content, id)
if not may or found ~= before then
	return found or ''
elseif versionField ~= '' and call('HGET', record, versionField) ~= version or
	versionField == '' and call('EXISTS', record) == 0 then
	return ''
end

local at = 10
local function list()
	local from = at + 1
	at = from + tonumber(ARGV[at])
	return from, at - 1
end

local from, to = list()
if digest ~= '' and digestOf(record, from, to) ~= digest then
	return ''
end

local score
if before ~= after then
	-- Nothing is written before it is known that no key holds a value of another type, and
	-- no unique value has an owner.
	entered, left = cmsgpack.unpack(entered), cmsgpack.unpack(left)
	for _, entries in ipairs({ entered, left }) do
		for i = 2, #entries, 3 do
			local key, directory = entries[i], entries[i + 1]
			if directory > inHash then
				sizes[key] = call('ZCARD', KEYS[key])
				if sizes[key] < 2 then
					call('ZCARD', KEYS[directory])
				end
			elseif directory == inSortedSet then
				call('ZCARD', KEYS[key])
			elseif call('HGET', KEYS[key], entries[i + 2]) and entries == entered then
				return ''
			end
		end
	end
	score = call('ZSCORE', all, id)
	if not score then
		return ''
	end
end

local shownFrom, shownTo = list()
local deleteFrom, deleteTo = list()
for i = at, #ARGV, 2000 do
	call('HSET', record, unpack(ARGV, i, math.min(i + 1999, #ARGV)))
end
for i = deleteFrom, deleteTo do
	call('HDEL', record, ARGV[i])
end
if score then
	for i = 2, #left, 3 do
		leaveAt(left[i], left[i + 1], id, left[i + 2])
	end
	for i = 2, #entered, 3 do
		enterAt(entered[i], entered[i + 1], id, entered[i + 2], score)
	end
	call('HSET', content, id, after)
end
return shownFrom > shownTo and 'OK' or call('HMGET', record, unpack(ARGV, shownFrom, shownTo))
