-- Writes records of one partition. Each is written with all its index entries, or not at
-- all; one that is refused does not affect the others.
--
-- KEYS 1 content, 2 all, 3 meta, 4 expires, 5 voids, then the indexes, then
--      records to which those that are written refer and that must exist, then for each record its key, and if records can expire
--      those of its sets and lists, then sets of values (see setsOf)
-- ARGV 1 stamp of the declaration, 2 numbers of the indexes (see placesOf), 3 how many keys
--      each record has, 4 name of the version field, 5 which keys are sets of values, 6 how
--      many keys are those of records that must exist, 7 the time of the server in
--      milliseconds as the caller has estimated it for the records, or nothing, 8 position
--      of the key of the first record, 9 position
--      of the first set of values, then the records. Each begins with
--        create: the record must not exist, save: it must exist, or put
--        id
--        content
--        score in the order of creation, or nothing: the time of the server
--        claims of unique values in other partitions: a MessagePack list of index, value,
--        token and deadline, or nothing
--        the entries of a new record: a MessagePack list of the millisecond at which it
--        expires, or 0, and for each entry the two positions that enterAt takes, and the
--        value; or nothing: it exists, or some are in other slots
--      unless it is created it continues with
--        what it must be if it exists: nothing: anything; + the same, and the version goes up
--        by one; v and its version, or d and the digest of the fields that are named next
--        so many names of fields to digest, and these
--        so many names and values of fields that the content depends on, and that must be so
--        if the record exists: the name, then nothing, or = and the value
--        so many names of fields to return, and these
--        so many names of fields to delete, and these
--      and each ends with
--        how many names and values are written, how many more to a new record, and these
--        if there are keys of records that must exist: three times how many references
--        it has, and for each of these its field, its id and how many keys: one of
--        these records must exist
-- Reply SCHEMA; CLOCK and the time of the server, if the estimate is wrong: nothing was
-- written; or the outcome of each record: OK, or OK with a list of index and
-- value of the unique values to release, and a list of the values to return; NOTFOUND,
-- EXISTS, CONFLICT; OTHER and the values of fields that the content depends on; TAKEN
-- with index, value and the owner; CLAIM with index and value of what must be claimed;
-- LATE if claims have ended; DANGLING with field and id of a reference to a record that
-- does not exist; KEYS with index and value of the sets that are missing among the keys;
-- or an error of the server
--
-- This is what most writes need. The rest, in write.lua, is not set up if all records are
-- written here.

local content, all, meta, expires, voids = unpack(KEYS, 1, 5)
local stamp, slots, stride, versionField, values, referred, clock, firstRecord, firstSet = unpack(ARGV, 1, 9)

if not writable(meta, stamp) then
	return 'SCHEMA'
end

if clock ~= '' then
	local time = now()
	if math.abs(time - clock) > 500 then
		return { 'CLOCK', string.format('%.0f', time) }
	end
end

local records = (firstSet - firstRecord) / stride
-- None of several records has existed before: one command for all. A record that comes
-- twice has content the second time.
local noneExists = records > 1 and firstSet - firstRecord < 4000 and
	call('EXISTS', unpack(KEYS, firstRecord, firstSet - 1)) == 0

-- set writes fields.
local function set(record, from, to)
	for i = from, to, 2000 do
		call('HSET', record, unpack(ARGV, i, math.min(i + 1999, to)))
	end
end

local reached -- the last entry that fill has written

-- undo removes what fill has written, as far as the types of the keys allow: nothing was
-- written to the others.
local function undo(record, id, entries)
	pcall(call, 'UNLINK', record)
	for i = 2, reached, 3 do
		pcall(leaveAt, entries[i], entries[i + 1], id, entries[i + 2])
	end
	pcall(call, 'ZREM', all, id)
	pcall(call, 'ZREM', expires, id)
	pcall(call, 'HDEL', content, id)
end

-- fill writes a new record, until another record has one of its unique values.
local function fill(key, r, entries)
	local id, score = r.id, newScore(all, r.score)
	call('ZADD', all, score, id)
	for i = 2, #entries, 3 do
		reached = i
		if entries[i + 1] ~= inHash then
			enterAt(entries[i], entries[i + 1], id, entries[i + 2], score)
		elseif call('HSETNX', KEYS[entries[i]], entries[i + 2], id) == 0 then
			return
		end
	end
	set(KEYS[key], r.setFrom, r.newTo)
	if entries[1] ~= 0 then
		local due = string.format('%.0f', entries[1])
		for i = key, key + stride - 1 do
			call('PEXPIREAT', KEYS[i], due)
		end
		call('ZADD', expires, due, id)
	end
	return 'OK'
end

-- insert writes a record that does not exist and has no content: the common case. It
-- writes at once, and undoes that if the record is refused or a key is of the wrong type.
-- It returns nothing if the record has content, or a unique value has an owner: then write
-- decides.
local function insert(key, r)
	if not noneExists and call('EXISTS', KEYS[key]) == 1 then
		return 'EXISTS'
	elseif call('HSETNX', content, r.id, r.content) == 0 then
		return
	end
	if not reached and firstSet + 0 <= #KEYS and #KEYS - firstSet < 4000 then
		filled = call('EXISTS', unpack(KEYS, firstSet)) == #KEYS - firstSet + 1
	end
	local entries = cmsgpack.unpack(r.entered)
	reached = 0
	local ok, outcome = pcall(fill, key, r, entries)
	if outcome ~= 'OK' then
		undo(KEYS[key], r.id, entries)
		if not ok then
			error(outcome, 0)
		end
	end
	return outcome
end

local at = 10
local function list()
	local from = at + 1
	at = from + tonumber(ARGV[at])
	return from, at - 1
end

-- What read returns for a record that must not exist: all such records share it.
local created = {
	operation = 'create', id = '', content = '', score = '', claims = '', entered = '', expected = '',
	shownFrom = 1, shownTo = 0, deleteFrom = 1, deleteTo = 0, setFrom = 0, setTo = 0, newTo = 0
}

-- read reads the record at a position of ARGV, without its references.
local function read()
	local operation, id, packed, score, claims, entered = unpack(ARGV, at, at + 5)
	at = at + 6
	local r = created
	if operation ~= 'create' then
		r = { operation = operation, expected = ARGV[at] }
		at = at + 1
		r.checkFrom, r.checkTo = list()
		r.otherFrom, r.otherTo = list()
		r.shownFrom, r.shownTo = list()
		r.deleteFrom, r.deleteTo = list()
	end
	r.id, r.content, r.score, r.claims, r.entered = id, packed, score, claims, entered
	r.setFrom = at + 2
	r.setTo = at + 1 + tonumber(ARGV[at])
	r.newTo = r.setTo + tonumber(ARGV[at + 1])
	at = r.newTo + 1
	return r
end

-- direct writes a record as insert does, or returns nothing.
local function direct(key, r)
	if r.entered == '' then
		return
	end
	local outcome = insert(key, r)
	if outcome ~= 'EXISTS' or r.operation == 'create' then
		return outcome
	end
end

local outcomes, done = {}, 0

-- writeAll writes the records that are left with a function, until it returns nothing.
local function writeAll(write)
	while done < records do
		local from = at
		local ok, outcome = pcall(write, firstRecord + done * stride, read())
		if not ok then
			outcome = { err = type(outcome) == 'table' and outcome.err or tostring(outcome) }
		elseif outcome == nil then
			at = from
			return
		end
		done = done + 1
		outcomes[done] = outcome
	end
	return outcomes
end

if referred == '0' and writeAll(direct) then
	return outcomes
end
