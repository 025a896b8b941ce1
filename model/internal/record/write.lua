-- Writes records of one partition. Each is written with all its index entries, or not at
-- all; one that is refused does not affect the others.
--
-- KEYS 1 content, 2 all, 3 meta, 4 expires, 5 changes, 6 voids, then the indexes, then the
--      counter if it gives the ids, then records to which those that are written refer and
--      that must exist, then for each record its key, and if records can expire
--      those of its sets and lists, then sets of values (see setsOf)
-- ARGV 1 stamp of the declaration, 2 numbers of the indexes (see placesOf), 3 how many
--      changes are kept, 4 value of the counter before the id of the first record, or
--      nothing: the ids are given, 5 how many keys each record has, 6 name of the version
--      field, 7 which keys are sets of values, 8 how many keys are those of records that
--      must exist, 9 the time of the server in milliseconds as the caller has estimated it
--      for the records, or nothing, then the records. Each begins with
--        create: the record must not exist, save: it must exist, or put
--        id
--        content
--        score in the order of creation, or nothing: the time of the server
--        claims of unique values in other partitions: a MessagePack list of index, value,
--        token and deadline, or nothing
--      unless it is created it continues with
--        what it must be if it exists: nothing: anything; + the same, and the version goes up
--        by one; v and its version, or d and the digest of the fields that are named next
--        so many names of fields to digest, and these
--        so many names and values of fields that the content depends on, and that the write
--        does not change if the record exists: the name, then nothing, or = and the value
--        so many names of fields to return, and these
--        so many names of fields to delete, and these
--      and each ends with
--        how many names and values are written, how many more to a new record, and these
--        if there are keys of records that must exist: three times how many references
--        it has, and for each of these its field, its id and how many keys: one of
--        these records must exist
-- Reply SCHEMA; CLOCK and the time of the server, if the estimate is wrong: nothing was
-- written; ID and the id of the last record that the counter has given instead:
-- nothing was written; or the outcome of each record: OK, or OK with a list of index and
-- value of the unique values to release, and a list of the values to return; NOTFOUND,
-- EXISTS, CONFLICT; OTHER and the values of fields that the content depends on; TAKEN
-- with index, value and the owner; CLAIM with index and value of what must be claimed;
-- LATE if claims have ended; DANGLING with field and id of a reference to a record that
-- does not exist; KEYS with index and value of the sets that are missing among the keys;
-- or an error of the server

local content, all, meta, expires, changes, voids = unpack(KEYS, 1, 6)
local stamp, slots, cap, expected, stride, versionField, values, referred, clock = unpack(ARGV, 1, 9)

local may, waiting = writable(meta, stamp)
if not may then
	return 'SCHEMA'
end

if clock ~= '' then
	local time = now()
	if math.abs(time - clock) > 500 then
		return { 'CLOCK', string.format('%.0f', time) }
	end
end

local places, sorted, behind = placesOf(slots, 7)
local nextKey = behind -- of the next record
local counter
if expected ~= '' then
	counter = KEYS[behind]
	nextKey = behind + 1
end
local nextReference = nextKey -- the first key of the next reference
nextKey = nextKey + referred
local firstSet = setsOf(values)
local records = (firstSet - nextKey) / stride
-- None of several records has existed before: one command for all. A record that comes
-- twice has content the second time.
local noneExists = records > 1 and firstSet - nextKey < 4000 and
	call('EXISTS', unpack(KEYS, nextKey, firstSet - 1)) == 0
if counter and (call('GET', counter) or '0') ~= expected then
	call('INCRBY', counter, records)
	return { 'ID', call('GET', counter) }
end

-- set writes fields.
local function set(record, from, to)
	for i = from, to, 2000 do
		call('HSET', record, unpack(ARGV, i, math.min(i + 1999, to)))
	end
end

local reached -- the last entry that fill has written

-- undo removes what fill has written, as far as the types of the keys allow: nothing was
-- written to the others.
local function undo(record, id, new)
	pcall(call, 'UNLINK', record)
	for i = 2, reached, 2 do
		if places[new[i]] then
			pcall(leave, places, sorted, id, new[i], new[i + 1])
		end
	end
	pcall(call, 'ZREM', all, id)
	pcall(call, 'ZREM', expires, id)
	pcall(call, 'HDEL', content, id)
end

-- fill writes a new record, until another record has one of its unique values.
local function fill(key, id, new, score, from, to)
	score = newScore(all, score)
	call('ZADD', all, score, id)
	for i = 2, #new, 2 do
		local place = places[new[i]]
		reached = i
		if place and place >= sorted then
			enter(places, sorted, id, new[i], new[i + 1], score)
		elseif place and (place == 0 or call('HSETNX', KEYS[place], new[i + 1], id) == 0) then
			return
		end
	end
	set(KEYS[key], from, to)
	if new[1] ~= 0 then
		local due = string.format('%.0f', new[1])
		for i = key, key + stride - 1 do
			call('PEXPIREAT', KEYS[i], due)
		end
		call('ZADD', expires, due, id)
	end
	told(changes, cap, 'create', id)
	return 'OK'
end

-- insert writes a record that does not exist and has no content: the common case. It
-- writes at once, and undoes that if the record is refused or a key is of the wrong type.
-- It returns nothing if the record has content, or a unique value has an owner: then write
-- decides.
local function insert(key, id, packed, score, from, to)
	if not noneExists and call('EXISTS', KEYS[key]) == 1 then
		return 'EXISTS'
	elseif call('HSETNX', content, id, packed) == 0 then
		return
	end
	local new = cmsgpack.unpack(packed)
	reached = 0
	local ok, outcome = pcall(fill, key, id, new, score, from, to)
	if outcome ~= 'OK' then
		undo(KEYS[key], id, new)
		if not ok then
			error(outcome, 0)
		end
	end
	return outcome
end

-- digestOf returns the digest of fields.
local function digestOf(record, from, to)
	local parts = {}
	for i, value in ipairs(from > to and {} or call('HMGET', record, unpack(ARGV, from, to))) do
		parts[i] = value and #value .. ':' .. value or '-'
	end
	return redis.sha1hex(table.concat(parts))
end

-- otherThan returns the values of fields, and whether they differ from those expected.
local function otherThan(record, from, to)
	if from > to then
		return
	end
	local names, differs = {}, false
	for i = from, to, 2 do
		names[#names + 1] = ARGV[i]
	end
	local found = call('HMGET', record, unpack(names))
	for i, value in ipairs(found) do
		differs = differs or (value and '=' .. value or '') ~= ARGV[from + 2 * i - 1]
	end
	return found, differs
end

-- validClaims returns the values in other slots that a record may enter, by claims that
-- have not ended.
local function validClaims(claims)
	local valid = {}
	if claims ~= '' then
		local list = cmsgpack.unpack(claims)
		for i = 1, #list, 4 do
			if tonumber(list[i + 3]) > now() and not call('ZSCORE', voids, list[i + 2]) then
				valid[list[i] .. ':' .. list[i + 1]] = true
			end
		end
	end
	return valid
end

-- write writes any record: it checks everything first. r has the ranges of ARGV.
local function write(key, operation, id, packed, score, claims, r)
	local record = KEYS[key]
	local before = call('HGET', content, id)
	local want, version = r.expected, nil
	if operation ~= 'create' and versionField ~= '' then
		version = call('HGET', record, versionField)
	end
	local exists = version or call('EXISTS', record) == 1
	if operation == 'put' then
		operation = exists and 'save' or 'create'
	elseif exists and operation == 'create' then
		return 'EXISTS'
	elseif not exists and operation == 'save' then
		return 'NOTFOUND'
	end
	if operation == 'save' then
		local kind = want:sub(1, 1)
		if kind == 'v' and (version or '0') ~= want:sub(2) or
			kind == 'd' and digestOf(record, r.checkFrom, r.checkTo) ~= want:sub(2) then
			return 'CONFLICT'
		end
		local found, differs = otherThan(record, r.otherFrom, r.otherTo)
		if differs then
			return { 'OTHER', found }
		end
	end

	-- Unchanged entries are neither left nor entered. Entries of indexes that the caller
	-- does not know stay until a migration. Those of an expired record with the same id may
	-- belong to others by now.
	local same = before == packed
	local new = cmsgpack.unpack(packed)
	local old = same and new or { 0 }
	local had, has = {}, {}
	local carried, expired = false, false
	if same then
		expired = old[1] ~= 0 and old[1] <= now()
	elseif before then
		old = unpacked(before)
		expired = old[1] ~= 0 and old[1] <= now()
		for i = 2, #old, 2 do
			if places[old[i]] then
				had[old[i] .. ':' .. old[i + 1]] = true
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
	local entered, left = { 0 }, { 0 }
	if not same or expired then
		for i = 2, #new, 2 do
			if places[new[i]] and (expired or not had[new[i] .. ':' .. new[i + 1]]) then
				entered[#entered + 1] = new[i]
				entered[#entered + 1] = new[i + 1]
			end
		end
	end
	if not same then
		for i = 2, #old, 2 do
			if places[old[i]] and not has[old[i] .. ':' .. old[i + 1]] then
				left[#left + 1] = old[i]
				left[#left + 1] = old[i + 1]
			end
		end
	end

	-- An expired owner no longer has a value. An owner without content may be a record that
	-- is not indexed yet.
	local valid = validClaims(claims)
	local dead = {}
	local missing = { 'CLAIM' }
	for i = 2, #entered, 2 do
		local number, value = entered[i], entered[i + 1]
		local place = places[number]
		if place == 0 then
			if not valid[number .. ':' .. value] then
				missing[#missing + 1] = number
				missing[#missing + 1] = value
			end
		elseif place < sorted then
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
	if #missing > 1 then
		return claims == '' and missing or 'LATE'
	end
	local unknown = { 'KEYS' }
	lacking(unknown, entered)
	lacking(unknown, left)
	for _, entries in pairs(dead) do
		lacking(unknown, entries)
	end
	if #unknown > 1 then
		return unknown
	end

	-- Nothing is refused from here on, except a record that is not a hash: it is written first.
	local due = new[1] ~= old[1]
	if not before or next(dead) ~= nil then
		sound(places, sorted, all, expires, changes, cap, next(dead) == nil and { entered, left } or nil)
	else
		sound(places, sorted, nil, due and expires, changes, cap, { entered, left })
	end
	set(record, r.setFrom, operation == 'create' and r.newTo or r.setTo)
	if #entered > 1 and before then
		score = scoreOf(all, id, score)
	elseif not before then
		score = newScore(all, score)
		call('ZADD', all, score, id)
	end
	if operation == 'save' and want == '+' then
		if version and version:find('^%d+$') then
			call('HINCRBY', record, versionField, 1)
		else
			call('HSET', record, versionField, '1')
		end
	end
	for i = r.deleteFrom, r.deleteTo do
		call('HDEL', record, ARGV[i])
	end
	for owner, entries in pairs(dead) do
		forget(places, sorted, owner, entries, content, all, expires)
		told(changes, cap, 'expire', owner)
	end
	if new[1] ~= 0 and (due or operation == 'create') then
		local time = string.format('%.0f', new[1])
		for i = key, key + stride - 1 do
			call('PEXPIREAT', KEYS[i], time)
		end
		call('ZADD', expires, time, id)
	elseif new[1] == 0 and due then
		for i = key, key + stride - 1 do
			call('PERSIST', KEYS[i])
		end
		call('ZREM', expires, id)
	end
	local release = {}
	for i = 2, #left, 2 do
		leave(places, sorted, id, left[i], left[i + 1])
		if places[left[i]] == 0 or waiting and places[left[i]] < sorted then
			release[#release + 1] = left[i]
			release[#release + 1] = left[i + 1]
		end
	end
	for i = 2, #entered, 2 do
		enter(places, sorted, id, entered[i], entered[i + 1], score)
	end
	if not same then
		call('HSET', content, id, carried and cmsgpack.pack(new) or packed)
	end
	if before and operation == 'create' then
		told(changes, cap, 'expire', id)
	end
	told(changes, cap, operation, id)
	if #release == 0 and r.shownFrom > r.shownTo then
		return 'OK'
	end
	return { 'OK', release, r.shownFrom > r.shownTo and {} or call('HMGET', record, unpack(ARGV, r.shownFrom, r.shownTo)) }
end

local at = 10
local function list()
	local from = at + 1
	at = from + tonumber(ARGV[at])
	return from, at - 1
end

-- The ranges of ARGV of a record that must not exist: all such records share it.
local created = { expected = '', shownFrom = 1, shownTo = 0, deleteFrom = 1, deleteTo = 0 }

-- one writes the record at a position of ARGV.
local function one(key)
	local operation, id, packed, score, claims = unpack(ARGV, at, at + 4)
	at = at + 5
	local r = created
	if operation ~= 'create' then
		r = { expected = ARGV[at] }
		at = at + 1
		r.checkFrom, r.checkTo = list()
		r.otherFrom, r.otherTo = list()
		r.shownFrom, r.shownTo = list()
		r.deleteFrom, r.deleteTo = list()
	end
	r.setFrom = at + 2
	r.setTo = at + 1 + tonumber(ARGV[at])
	r.newTo = r.setTo + tonumber(ARGV[at + 1])
	at = r.newTo + 1
	if referred ~= '0' then
		local from, to = list()
		local dangling
		dangling, nextReference = danglingOf(KEYS[key], from, to, nextReference)
		if dangling and (operation ~= 'save' or call('EXISTS', KEYS[key]) == 1) then
			return dangling
		end
	end
	if operation ~= 'save' and claims == '' then
		local outcome = insert(key, id, packed, score, r.setFrom, r.newTo)
		if outcome and (outcome ~= 'EXISTS' or operation == 'create') then
			return outcome
		end
	end
	return write(key, operation, id, packed, score, claims, r)
end

if firstSet <= #KEYS and #KEYS - firstSet < 4000 then
	filled = call('EXISTS', unpack(KEYS, firstSet)) == #KEYS - firstSet + 1
end
local outcomes = {}
local used = 0
for i = 1, records do
	local ok, outcome = pcall(one, nextKey)
	nextKey = nextKey + stride
	if not ok then
		outcome = { err = type(outcome) == 'table' and outcome.err or tostring(outcome) }
	elseif counter and (records > 1 or outcome == 'OK' or outcome == 'EXISTS') then
		used = i
	end
	outcomes[i] = outcome
end
if used > 0 then
	call('INCRBY', counter, used)
end
return outcomes
