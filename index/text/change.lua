-- Puts, replaces or removes a document, in the current generation and in the one that a rebuild
-- builds. Preceded by declare.lua and postings.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]…     the keys of a generation: the hash with the record of the document, then for
--              each term rare and tail, or rare, tail, dir and seg. Those of the next
--              generation follow, if there is one
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the current generation
-- ARGV[5]      the next generation; empty: none
-- ARGV[6]      the name of a rebuild: only its generation is changed; empty: a write
-- ARGV[7]      '1': a repair, which changes postings even if the record is right
-- ARGV[8]      the id; [9] the id as 8 bytes; [10] the field of the record
-- ARGV[11]     the expected record; empty: none
-- ARGV[12]     the new record
-- ARGV[13]     keys per term: 2 or 4
-- ARGV[14]     maximum number of ids of a rare term
-- ARGV[15]     number of ids at which a tail must be sealed
-- ARGV[16]     maximum size of a segment in bytes
-- ARGV[17]     rare words are listed, too, while the list of words is shorter than this
-- ARGV[18]     number of terms that are new in the document
-- ARGV[19]     number of terms of the document; the remaining terms are to be removed
-- ARGV[20]…    terms
--
-- Reply        {status, number of a term whose tail must be sealed, …}. The status is ok;
--              same: nothing had to change; conflict; removed; or old: an id is in a segment,
--              call again with four keys per term. Or {moved, generation, next}: call again
--              with these generations. Terms are numbered from 1, first the terms of the
--              current generation, then the terms of the next

local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local state = call('HMGET', KEYS[3], 'generation', 'next')
local current, nextGeneration = state[1] or '0', rebuilding and state[2] or ''
if ARGV[6] ~= '' then
	local refused = replaced(KEYS[3], ARGV[6])
	if refused then
		return refused
	end
elseif current ~= ARGV[4] or nextGeneration ~= ARGV[5] then
	return {'moved', current, nextGeneration}
end

local id, bytes, field = tonumber(ARGV[8]), ARGV[9], ARGV[10]
local expected, record, stride = ARGV[11], ARGV[12], tonumber(ARGV[13])
local maxRare, maxTail, maxSegment = 8 * ARGV[14], header + 8 * ARGV[15], tonumber(ARGV[16])
local added, all = tonumber(ARGV[18]), tonumber(ARGV[19])
local terms = #ARGV - 19
-- Lengths of a tail at which the level of its word has just grown: 32, 256 and 2,048 ids.
local crossing = {[header + 8 * 32] = true, [header + 8 * 256] = true, [header + 8 * 2048] = true}
local reply = {'ok'}

-- A target is a generation to change: the position of its keys, its list of words, and the
-- ranges of terms to add and to remove. plan holds the result of look for each term.
local function target(number, list)
	return {number = number, first = 7 + number * (1 + terms * stride), list = list, added = added, removed = all + 1, plan = {}}
end

-- keyOf returns a key of a term: rare, tail, dir or seg.
local function keyOf(t, i, which)
	return KEYS[t.first + (i - 1) * stride + which]
end

-- look reads what a change of a term needs, before anything is written. It returns true if the
-- id follows the last id of the tail, the usual case; the ids of a rare term, or false if the
-- term has no ids; or a table for an id in the middle of a tail or in a segment. It returns nil
-- if the call lacks the keys of segments.
local function look(t, i)
	local tail = keyOf(t, i, 2)
	local last = call('GETRANGE', tail, '-8', '-1')
	if last == '' then
		return call('HGET', keyOf(t, i, 1), ARGV[19 + i])
	elseif unpackAt('>I8', last) < id then
		return true
	end
	local found = {tail = call('GET', tail)}
	if id <= unpackAt('>I8', found.tail, 9) then
		if stride == 2 then
			return nil
		end
		found.sealed = true
		found.base, found.data = place(keyOf(t, i, 3), keyOf(t, i, 4), id)
	end
	return found
end

-- lookAll sets the plan of terms. It returns false if the call lacks the keys of segments.
local function lookAll(t, from, to)
	for i = from, to do
		local found = look(t, i)
		if found == nil then
			return false
		end
		t.plan[i] = found
	end
	return true
end

-- recount changes the number of ids in segments by one.
local function recount(t, i, tail, change)
	local key, sealed = keyOf(t, i, 2), unpackAt('>I8', tail) + change
	local ids = floor((#tail - header) / 8)
	call('SETRANGE', key, 0, pack('>I8', sealed))
	if sealed == 0 and ids == 0 then
		call('DEL', key)
	end
	relist(t.list, ARGV[19 + i], magnitude(tail), sealed > 0 and sealed or ids)
end

-- mustSeal adds the number of a term to the reply if the tail of the term must be sealed.
local function mustSeal(t, i, length)
	if length >= maxTail then
		reply[#reply + 1] = t.number * terms + i
	end
end

local function addRare(t, i, ids)
	local term = ARGV[19 + i]
	if not ids then
		call('HSET', keyOf(t, i, 1), term, bytes)
		local listed = isWord(term) and try('ZCARD', t.list)
		if type(listed) == 'number' and listed < tonumber(ARGV[17]) then
			try('ZADD', t.list, 0, '0' .. term)
		end
		return
	end
	local at, found = find(ids, 0, 8, id)
	if found then
		return
	end
	ids = sub(ids, 1, at) .. bytes .. sub(ids, at + 1)
	if #ids <= maxRare then
		call('HSET', keyOf(t, i, 1), term, ids)
	else
		call('SET', keyOf(t, i, 2), string.rep('\0', header) .. ids)
		call('HDEL', keyOf(t, i, 1), term)
	end
end

local function add(t, i)
	local found = t.plan[i]
	if found == true then
		local key = keyOf(t, i, 2)
		local length = call('APPEND', key, bytes)
		mustSeal(t, i, length)
		if crossing[length] and unpackAt('>I8', call('GETRANGE', key, 0, 7)) == 0 then
			local ids = (length - header) / 8
			relist(t.list, ARGV[19 + i], ids - 1, ids)
		end
	elseif type(found) ~= 'table' then
		addRare(t, i, found)
	elseif found.sealed then
		if insertSealed(keyOf(t, i, 3), keyOf(t, i, 4), found.base, found.data, id, maxSegment) then
			recount(t, i, found.tail, 1)
		end
	else
		local at, exists = find(found.tail, header, 8, id)
		if not exists then
			local tail = sub(found.tail, 1, at) .. bytes .. sub(found.tail, at + 1)
			call('SET', keyOf(t, i, 2), tail)
			mustSeal(t, i, #tail)
			relist(t.list, ARGV[19 + i], magnitude(found.tail), magnitude(tail))
		end
	end
end

local function removeRare(t, i, ids)
	local at, found = find(ids, 0, 8, id)
	if not found then
		return
	end
	ids = sub(ids, 1, at) .. sub(ids, at + 9)
	if ids ~= '' then
		call('HSET', keyOf(t, i, 1), ARGV[19 + i], ids)
	else
		call('HDEL', keyOf(t, i, 1), ARGV[19 + i])
		relist(t.list, ARGV[19 + i], 1, 0)
	end
end

local function remove(t, i)
	local found = t.plan[i]
	if type(found) == 'string' then
		removeRare(t, i, found)
	elseif type(found) ~= 'table' then
		return
	elseif found.sealed then
		if removeSealed(keyOf(t, i, 3), keyOf(t, i, 4), found.base, found.data, id) then
			recount(t, i, found.tail, -1)
		end
	else
		local at, exists = find(found.tail, header, 8, id)
		if not exists then
			return
		end
		local tail = sub(found.tail, 1, at) .. sub(found.tail, at + 9)
		if magnitude(tail) > 0 then -- an emptied tail stays while there are segments
			call('SET', keyOf(t, i, 2), tail)
		else
			call('DEL', keyOf(t, i, 2))
		end
		relist(t.list, ARGV[19 + i], magnitude(found.tail), magnitude(tail))
	end
end

-- status compares the record of the document. It returns nil if a change must be made.
local function status(t)
	local now = call('HGET', KEYS[t.first], field) or ''
	if now == expected and (now ~= record or ARGV[7] == '1') then
		return nil
	elseif now == record then
		return 'same'
	elseif now == '-' then
		return 'removed'
	elseif now == '' and record == '-' then
		t.removed = terms + 1 -- a late Put may still arrive: mark the id
		return nil
	end
	return 'conflict', now
end

-- statusNext is status for the generation that a rebuild builds. The rebuild may not have written
-- the document yet. A conflict is recorded for later, since the current generation decides.
local function statusNext(t)
	local refused, now = status(t)
	if refused == 'conflict' and now == '' then
		t.added, t.removed = all, terms + 1
		return nil
	elseif refused == 'conflict' then
		call('SADD', KEYS[6], ARGV[8])
	end
	return refused
end

local targets = {}
if ARGV[6] ~= '' then
	targets[1] = target(0, KEYS[4])
	local refused = status(targets[1])
	if refused then
		if refused == 'conflict' then
			call('SADD', KEYS[6], ARGV[8])
		end
		return {refused}
	end
else
	targets[1] = target(0, KEYS[1])
	local refused = status(targets[1])
	if refused and not (refused == 'same' and nextGeneration ~= '') then
		return {refused}
	elseif refused then
		targets[1] = nil
	end
	if nextGeneration ~= '' then
		local next = target(1, KEYS[4])
		if not statusNext(next) then
			targets[#targets + 1] = next
		end
	end
	if #targets == 0 then
		return {'same'}
	end
end
for _, t in ipairs(targets) do
	if not lookAll(t, 1, t.added) or not lookAll(t, t.removed, terms) then
		return {'old'}
	end
end
for _, t in ipairs(targets) do
	for i = 1, t.added do
		add(t, i)
	end
	for i = t.removed, terms do
		remove(t, i)
	end
	call('HSET', KEYS[t.first], field, record)
end
return reply
