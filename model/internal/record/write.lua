-- Writes a record and all its index entries, or nothing.
--
-- KEYS 1 record, 2 content, 3 all, 4 meta, 5 expires, 6 changes, 7 voids, then the
--      indexes, then the sets and lists of a record that can expire, and for next the
--      counter
-- ARGV 1 create: the record must not exist, next: nor that, and its id must be the next of
--      the counter, or save: it must exist, 2 id, 3 stamp of the declaration, 4 numbers of
--      the indexes (see placesOf), 5 content, 6 score in the order of creation, or nothing:
--      the time of the server, 7 how many changes are kept, 8 what a saved record must be:
--      nothing: anything; v and its version, or d and the digest of the fields that are
--      named next; for next the value of the counter, 9 name of the version field,
--      10 claims of unique values in other partitions: a MessagePack list of index, value,
--      token and deadline, or nothing, 11 so many names of fields to digest, then these;
--      so many names of fields to return, then these; so many names of fields to delete,
--      then these; then names and values
-- Reply OK, or OK with a list of index and value of the unique values to release, and a
-- list of the values to return; NOTFOUND, EXISTS, CONFLICT, SCHEMA; ID with the id that
-- the counter has given instead; TAKEN with index, value and the owner; CLAIM with
-- index and value of what must be claimed; LATE if claims have ended

local record, content, all, meta, expires, changes, voids = unpack(KEYS, 1, 7)
local operation, id, stamp, slots, packed, score, cap, expected, versionField, claims = unpack(ARGV, 1, 10)

local may, waiting = writable(meta, stamp)
if not may then
	return 'SCHEMA'
end
local counter = operation == 'next' and KEYS[#KEYS]
if counter and (call('GET', counter) or '0') ~= expected then
	call('INCR', counter)
	return { 'ID', call('GET', counter) }
end

local at = 11
local function names()
	local n = tonumber(ARGV[at])
	local from = at + 1
	at = from + n
	return from, at - 1
end

local function digestOf(from, to)
	local parts = {}
	for i, value in ipairs(from > to and {} or call('HMGET', record, unpack(ARGV, from, to))) do
		parts[i] = value and #value .. ':' .. value or '-'
	end
	return redis.sha1hex(table.concat(parts))
end

local before = call('HGET', content, id)
local exists = call('EXISTS', record) == 1
local checkedFrom, checkedTo = names()
local shownFrom, shownTo = names()
if operation ~= 'save' then
	if exists then
		if counter then
			call('INCR', counter)
		end
		return 'EXISTS'
	end
elseif not exists then
	return 'NOTFOUND'
elseif expected ~= '' then
	local kind, want = expected:sub(1, 1), expected:sub(2)
	local found
	if kind == 'v' then
		found = call('HGET', record, versionField) or '0'
	else
		found = digestOf(checkedFrom, checkedTo)
	end
	if found ~= want then
		return 'CONFLICT'
	end
end

local places, sorted, behind = placesOf(slots, 8)
local new = cmsgpack.unpack(packed)
local old = { 0 }

-- Unchanged entries are neither left nor entered. Entries of indexes that the caller
-- does not know stay until a migration. Those of an expired record with the same id may
-- belong to others by now.
local had, has = {}, {}
local carried = false
if before then
	old = unpacked(before)
	local lives = old[1] == 0 or old[1] > now()
	for i = 2, #old, 2 do
		if places[old[i]] then
			had[old[i] .. ':' .. old[i + 1]] = lives
		else
			carried = true
			new[#new + 1] = old[i]
			new[#new + 1] = old[i + 1]
		end
	end
	for i = 2, #new, 2 do
		has[new[i] .. ':' .. new[i + 1]] = true
	end
end

-- Values in other slots are valid by claims that have not ended.
local valid = {}
if claims ~= '' then
	local list = cmsgpack.unpack(claims)
	for i = 1, #list, 4 do
		if tonumber(list[i + 3]) > now() and not call('ZSCORE', voids, list[i + 2]) then
			valid[list[i] .. ':' .. list[i + 1]] = true
		end
	end
end

-- An expired owner no longer has a value. An owner without content may be a record that
-- is not indexed yet.
local dead = {}
local missing = { 'CLAIM' }
for i = 2, #new, 2 do
	local number, value = new[i], new[i + 1]
	local place = places[number]
	if place and place < sorted and not (before and had[number .. ':' .. value]) then
		if place == 0 then
			if not valid[number .. ':' .. value] then
				missing[#missing + 1] = number
				missing[#missing + 1] = value
			end
		else
			local owner = call('HGET', KEYS[place], value)
			if owner and owner ~= id then
				local its = call('HGET', content, owner)
				its = its and unpacked(its)
				if not its or its[1] == 0 or its[1] > now() then
					return { 'TAKEN', number, value, owner }
				end
				dead[owner] = its
			end
		end
	end
end
if #missing > 1 then
	return claims == '' and missing or 'LATE'
end

sound(places, sorted, all, expires, changes, cap, next(dead) == nil and { old, new } or nil)

-- Nothing is refused from here on.
if counter then
	call('INCR', counter)
end
local deleteFrom, deleteTo = names()
for i = at, #ARGV, 2000 do
	call('HSET', record, unpack(ARGV, i, math.min(i + 1999, #ARGV)))
end
for i = deleteFrom, deleteTo do
	call('HDEL', record, ARGV[i])
end
for owner, entries in pairs(dead) do
	forget(places, sorted, owner, entries, content, all, expires)
	told(changes, cap, 'expire', owner)
end
if new[1] ~= 0 then
	call('PEXPIREAT', record, string.format('%.0f', new[1]))
	call('ZADD', expires, string.format('%.0f', new[1]), id)
elseif old[1] ~= 0 then
	call('PERSIST', record)
	call('ZREM', expires, id)
end
if new[1] ~= old[1] then
	for i = behind, counter and #KEYS - 1 or #KEYS do
		if new[1] ~= 0 then
			call('PEXPIREAT', KEYS[i], string.format('%.0f', new[1]))
		else
			call('PERSIST', KEYS[i])
		end
	end
end
local left = {}
if before ~= packed then
	for i = 2, #old, 2 do
		if places[old[i]] and not has[old[i] .. ':' .. old[i + 1]] then
			leave(places, sorted, id, old[i], old[i + 1])
			if places[old[i]] == 0 or waiting and places[old[i]] < sorted then
				left[#left + 1] = old[i]
				left[#left + 1] = old[i + 1]
			end
		end
	end
	for i = 2, #new, 2 do
		if places[new[i]] and not (before and had[new[i] .. ':' .. new[i + 1]]) then
			enter(places, sorted, id, new[i], new[i + 1])
		end
	end
	call('HSET', content, id, carried and cmsgpack.pack(new) or packed)
end
if not before then
	if score == '' then
		local _, time = now()
		local last = call('ZRANGE', all, -1, -1, 'WITHSCORES')[2]
		score = string.format('%.0f', math.max(time, last and last + 1 or 0))
	end
	call('ZADD', all, score, id)
end
if before and operation ~= 'save' then
	told(changes, cap, 'expire', id)
end
told(changes, cap, counter and 'create' or operation, id)
if #left == 0 and shownFrom > shownTo then
	return 'OK'
end
return { 'OK', left, shownFrom > shownTo and {} or call('HMGET', record, unpack(ARGV, shownFrom, shownTo)) }
