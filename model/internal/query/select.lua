-- Scans an index in batches, and returns the records that match the query. Preceded by less.lua
-- and at_once.lua.
--
-- KEYS 1 content, 2 meta, 3 expires, 4 all, 5 the index or order to scan, then the sets of
--      values of the groups
-- ARGV 1 the query, a MessagePack list:
--        1 kind: z sorted set, a records in creation order (all, or those of a group),
--          u unique index, i records given by id
--        2 1: from the end
--        3 1: records expire
--        4 number of the index
--        5 how the columns of a member end: for each column a width, or its last bytes
--        6 the filter, see compile
--        7 ranges of values, see rangeTest, if a record can have several of these values but
--          must be returned only once; or empty
--        8 number of the index whose members are returned instead; -1: the score in creation
--          order; or 0
--        9 ranges of values in that index
--        10 names in meta of the indexes that must be built
--        11 groups of sets, each its kind and its number of sets: in, a record must be in one
--          of the sets; out, in none of the sets; or scan, like in, but kind a scans the
--          smallest of these groups
--      2 number of records to return; 0: only count them
--      3 for a: the score, and 4 the id, after which to start; or empty
--      5.. for z: ends of ranges for ZRANGEBYLEX, in scan order; for u: values; for i: value
--          and id
-- Reply a list, or SCHEMA:
--      1 number of ranges or values that are done; for a, the score of the last record scanned,
--        or empty at the end
--      2 the last member scanned of the next range, or empty; for a, the id of that record
--      then the number of matching records, the number of entries scanned, and for each
--      returned record its member, value or score, and its id

local content, meta, expires, all, key = unpack(KEYS, 1, 5)
local query = cmsgpack.unpack(ARGV[1])
local kind, reverse, expiring, number, endings = unpack(query, 1, 5)
local filter, once, other, within, built, groups = unpack(query, 6, 11)
local want = tonumber(ARGV[2])

if #built > 0 then
	for _, found in ipairs(redis.call('HMGET', meta, unpack(built))) do
		if not found then
			return 'SCHEMA'
		end
	end
end

-- Limits of one run: members, contents, steps, and bytes of members and contents.
local MEMBERS, CONTENTS, STEPS, BYTES = 2000, 500, 30000, 262144
local kept, examined, decoded, steps, bytes = 0, 0, 0, 0, 0

-- rangeTest returns a function that reports whether a value is in ranges: alternating low and
-- high ends, sorted. An empty high end means no end. Single values are passed as a map from
-- each value to true.
local function rangeTest(spans)
	local n = #spans / 2
	if n == 0 then
		return function(value)
			return spans[value]
		end
	end
	return function(value)
		steps = steps + 5 + #value / 8 -- approximate cost of a comparison
		local i, j = 0, n -- the last range that starts at or before the value
		while i < j do
			steps = steps + 5 + #value / 8
			local k = math.ceil((i + j) / 2)
			if less(value, spans[2 * k - 1]) then
				j = k - 1
			else
				i = k
			end
		end
		return i > 0 and (spans[2 * i] == '' or less(value, spans[2 * i]))
	end
end

-- after returns the position after the columns of a value, or nil.
local function after(value, ends)
	local at = 1
	for _, e in ipairs(ends) do
		if type(e) == 'number' then
			at = at + e
		else
			local _, last = value:find(e, at, true)
			if not last then
				return nil
			end
			at = last + 1
		end
	end
	return at
end

-- compile returns a function that evaluates the next condition of the filter for the entries of
-- a record. A condition is a list in prefix notation: 'and' or 'or' and the number of terms;
-- 'not'; or 'is', the number of an index, how the columns before the compared column end, and
-- the ranges of the compared column.
local at, leaves = 0, 0
local compile
local function nextWord()
	at = at + 1
	return filter[at]
end
local function compileTerms(wanted)
	local terms = {}
	for i = 1, nextWord() do
		terms[i] = compile()
	end
	return function(entries)
		for i = 1, #terms do
			if terms[i](entries) ~= wanted then
				return not wanted
			end
		end
		return wanted
	end
end
compile = function()
	local op = nextWord()
	if op == 'and' then
		return compileTerms(true)
	elseif op == 'or' then
		return compileTerms(false)
	elseif op == 'not' then
		local term = compile()
		return function(entries)
			return not term(entries)
		end
	end
	local n, ends, inRanges = nextWord(), nextWord(), rangeTest(nextWord())
	leaves = leaves + 1
	return function(entries)
		for i = 2, #entries, 2 do
			if entries[i] == n then
				local value = entries[i + 1]
				if #ends > 0 then
					value = value:sub(after(value, ends) or #value + 1)
				end
				if inRanges(value) then
					return true
				end
			end
		end
		return false
	end
end
local matches = #filter > 0 and compile() or nil
local single = next(once) == nil
if not single then
	leaves = leaves + 1
end
local isOnce, isWithin = rangeTest(once), rangeTest(within)

-- firstValue returns the first value of a record in the ranges of once.
local function firstValue(entries)
	for i = 2, #entries, 2 do
		if entries[i] == number and isOnce(entries[i + 1]) then
			return entries[i + 1]
		end
	end
	return nil
end

-- member returns the member of a record in the other index: its value and id.
local function member(entries, id)
	for i = 2, #entries, 2 do
		if entries[i] == other and isWithin(entries[i + 1]) then
			return entries[i + 1] .. id
		end
	end
	return nil
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = expiring == 1 and #redis.call('ZRANGEBYSCORE', expires, '-inf', now, 'LIMIT', 0, 1) > 0
local decodes = matches or not single or other > 0
local reply = { 0, '', 0, 0 }

-- filters holds all groups, and scanned the groups of kind scan.
local filters, scanned = {}, {}
local first = 6
for i = 1, #groups, 2 do
	local group = { kind = groups[i], first = first, last = first + groups[i + 1] - 1 }
	first = group.last + 1
	filters[#filters + 1] = group
	if group.kind == 'scan' then
		scanned[#scanned + 1] = group
	end
end

-- unlimited is set if all matches are returned, even more than wanted.
local unlimited = false
local function limitReached()
	return examined >= MEMBERS or decoded >= CONTENTS or steps >= STEPS or bytes >= BYTES or want > 0 and kept >= want and not unlimited
end

local function add(position, id)
	kept = kept + 1
	if want > 0 then
		reply[#reply + 1] = position
		reply[#reply + 1] = id
	end
end

-- evaluate returns false if a record does not match. Otherwise it returns the matching value of
-- the record, and the position to return.
local function evaluate(id, packed)
	local entries = cmsgpack.unpack(packed)
	steps = steps + #entries * (leaves + 1)
	if entries[1] ~= 0 and entries[1] <= now or matches and not matches(entries) then
		return false
	end
	local value = not single and firstValue(entries)
	local position = other > 0 and member(entries, id)
	return value ~= nil and position ~= nil and { value = value, position = position }
end

-- results holds the results of evaluate by id: false for missing or damaged content.
local results = {}
local function resultOf(id, packed)
	if results[id] == nil then
		local ok, result = pcall(evaluate, id, packed or '')
		decoded = decoded + 1
		bytes = bytes + #(packed or '')
		results[id] = ok and result
	end
	return results[id]
end

-- mark marks candidates that the groups of sets exclude or that have expired, and sets the
-- scores of the other candidates if scores are returned.
local function mark(candidates)
	local function each(use)
		local left, ids = {}, {}
		for _, c in ipairs(candidates) do
			if not c.out then
				left[#left + 1], ids[#ids + 1] = c, c.id
			end
		end
		if #left > 0 then
			use(left, ids)
		end
	end
	for _, group in ipairs(filters) do
		each(function(left, ids)
			local inside = {}
			for i = group.first, group.last do
				for j, score in ipairs(redis.call('ZMSCORE', KEYS[i], unpack(ids))) do
					inside[j] = inside[j] or score
				end
			end
			steps = steps + 2 * #ids * (group.last - group.first + 1)
			for j, c in ipairs(left) do
				c.out = not inside[j] == (group.kind ~= 'out')
			end
		end)
	end
	if expired then
		each(function(left, ids)
			for j, due in ipairs(redis.call('ZMSCORE', expires, unpack(ids))) do
				left[j].out = due and tonumber(due) <= now
			end
		end)
	end
	if other == -1 then
		each(function(left, ids)
			for j, score in ipairs(redis.call('ZMSCORE', all, unpack(ids))) do
				left[j].out, left[j].created = not score, score
			end
		end)
	end
end

-- contentsOf reads the contents of unchecked candidates. Since contents can be large, it reads
-- a few at a time, within the limits.
local largest
local function contentsOf(candidates, from)
	local n = largest and math.max(1, math.min(8, math.floor((BYTES - bytes) / largest))) or 1
	local to = math.min(from + n - 1, #candidates)
	local ids, contents = {}, {}
	for i = from, to do
		if not candidates[i].out and results[candidates[i].id] == nil then
			ids[#ids + 1] = candidates[i].id
		end
	end
	for i, packed in ipairs(#ids > 0 and redis.call('HMGET', content, unpack(ids)) or {}) do
		contents[ids[i]] = packed
		largest = math.max(largest or 1, packed and #packed or 1)
	end
	return contents, to
end

-- process checks candidates, each with id, value and position, and returns the number of the
-- candidate at which a limit was reached, or nil.
local function process(candidates)
	local contents, to = {}, 0
	if #filters > 0 or expired or other == -1 then
		mark(candidates)
	end
	for i, c in ipairs(candidates) do
		examined = examined + 1
		steps = steps + 5
		bytes = bytes + #c.position + #c.id
		if c.out then -- not a match
		elseif not decodes then
			add(c.created or c.position, c.id)
		else
			if i > to then
				contents, to = contentsOf(candidates, i)
			end
			local result = resultOf(c.id, contents[c.id])
			if result and (not result.value or result.value == c.value) then
				add(result.position or c.created or c.position, c.id)
			end
		end
		if limitReached() then
			return i
		end
	end
	return nil
end

local function finish(ended, last)
	reply[1], reply[2], reply[3], reply[4] = ended, last, kept, examined
	return reply
end

-- nextSize returns the number of members to read next: few at first, then twice as many each time,
-- within the limits if the members are as long as the previous members.
local batch = want > 0 and math.min(math.max(want, 8), 100) or 100
local function nextSize()
	local size = math.min(batch, MEMBERS - examined)
	if bytes > 0 then
		size = math.min(size, math.floor((BYTES - bytes) * examined / bytes))
	end
	batch = batch * 2
	return math.max(size, 1)
end

local function parsed(members)
	local candidates = {}
	for _, m in ipairs(members) do
		local idStart = after(m, endings)
		if idStart and idStart <= #m then -- otherwise the model did not write the member
			candidates[#candidates + 1] = { id = m:sub(idStart), value = m:sub(1, idStart - 1), position = m }
		end
	end
	return candidates
end

local function ranges()
	local ended = 0
	for r = 5, #ARGV, 2 do
		local from, to = ARGV[r], ARGV[r + 1]
		while true do
			local size, members = nextSize(), nil
			if reverse == 1 then
				members = redis.call('ZREVRANGEBYLEX', key, from, to, 'LIMIT', 0, size)
			else
				members = redis.call('ZRANGEBYLEX', key, from, to, 'LIMIT', 0, size)
			end
			local candidates = parsed(members)
			local stopped = process(candidates)
			if stopped then
				return finish(ended, candidates[stopped].position)
			end
			if #members < size then
				break
			end
			examined = examined + #members - #candidates
			if limitReached() then
				return finish(ended, members[#members])
			end
			from = '(' .. members[#members]
		end
		ended = ended + 1
		steps = steps + 100 -- approximate cost of finding the next range
		if limitReached() then
			break
		end
	end
	return finish(ended, '')
end

local function list()
	local candidates = {}
	if kind == 'u' then
		local values = { unpack(ARGV, 5) }
		for i, id in ipairs(#values > 0 and redis.call('HMGET', key, unpack(values)) or {}) do
			if id then
				candidates[#candidates + 1] = { id = id, value = values[i], position = values[i], ended = i }
			end
		end
		local stopped = process(candidates)
		return finish(stopped and candidates[stopped].ended or #values, '')
	end
	for i = 5, #ARGV, 2 do
		candidates[#candidates + 1] = { id = ARGV[i + 1], value = ARGV[i], position = ARGV[i] }
	end
	return finish(process(candidates) or #candidates, '')
end

local score, id = unpack(ARGV, 3, 4)

-- rank returns the rank at which to continue in a set. If the last record returned is not in
-- the set, this is the rank of the first record with its score, and read skips records as
-- needed.
local function rank(key)
	if score == '' then
		return 0
	end
	if redis.call('ZSCORE', key, id) == score then
		return redis.call(reverse == 1 and 'ZREVRANK' or 'ZRANK', key, id) + 1
	end
	if reverse == 1 then
		return redis.call('ZCOUNT', key, '(' .. score, '+inf')
	end
	return redis.call('ZCOUNT', key, '-inf', '(' .. score)
end

-- passed reports whether a record with the score of the last record returned is that record or
-- precedes it.
local function passed(itemScore, itemID)
	return itemScore == score and (itemID == id or less(itemID, id) == (reverse == 0))
end

-- comesBefore compares candidates in creation order.
local function comesBefore(a, b)
	if reverse == 1 then
		a, b = b, a
	end
	local x, y = tonumber(a.position), tonumber(b.position)
	return x < y or x == y and less(a.id, b.id)
end

-- read reads the next members of a set as candidates.
local function read(set, size)
	local members = redis.call(reverse == 1 and 'ZREVRANGE' or 'ZRANGE', set.key, set.at, set.at + size - 1, 'WITHSCORES')
	local candidates = {}
	for i = 1, #members, 2 do
		if not passed(members[i + 1], members[i]) then
			candidates[#candidates + 1] = { id = members[i], value = '', position = members[i + 1] }
		end
	end
	set.at = set.at + size
	set.ended = #members < 2 * size
	set.last = { id = members[#members - 1], position = members[#members] }
	return candidates
end

-- inOrder scans sets in creation order.
local function inOrder(keys)
	local sets = {}
	for i, k in ipairs(keys) do
		sets[i] = { key = k, at = rank(k) }
	end
	local pending = {} -- candidates that may come after unread candidates
	while true do
		local share = math.max(math.ceil(nextSize() / #sets), 2)
		local safe -- all members up to this member have been read
		for _, set in ipairs(sets) do
			if not set.ended then
				if not set.ahead then
					for _, c in ipairs(read(set, share)) do
						pending[#pending + 1] = c
					end
				end
				if not set.ended and (not safe or comesBefore(set.last, safe)) then
					safe = set.last
				end
			end
		end
		local candidates = pending
		pending = {}
		if #sets > 1 then
			table.sort(candidates, comesBefore)
			local distinct = {}
			for i, c in ipairs(candidates) do
				if safe and comesBefore(safe, c) then
					pending[#pending + 1] = c
				elseif i == 1 or c.id ~= candidates[i - 1].id then
					distinct[#distinct + 1] = c
				end
			end
			candidates = distinct
			for _, set in ipairs(sets) do
				set.ahead = safe and not set.ended and comesBefore(safe, set.last)
			end
		end
		local stopped = process(candidates)
		if stopped then
			return finish(candidates[stopped].position, candidates[stopped].id)
		elseif not safe then
			return finish('', '')
		end
	end
end

-- records scans all records, the smallest group, or the intersection of sets.
local function records()
	if #scanned == 0 then
		return inOrder({ key })
	end
	local best, least
	local singles, sizes = {}, {} -- the groups with a single set
	for _, group in ipairs(scanned) do
		local size = 0
		for i = group.first, group.last do
			size = size + redis.call('ZCARD', KEYS[i])
		end
		if not least or size < least then
			best, least = group, size
		end
		if group.first == group.last then
			singles[#singles + 1], sizes[#sizes + 1] = KEYS[group.first], size
		end
	end
	local satisfied = { [best] = true }
	local intersects = want > 0 and least > 0 and #singles > 1 and best.first == best.last and atOnce(sizes, all, want, 2000)
	if intersects then
		for _, group in ipairs(scanned) do
			satisfied[group] = satisfied[group] or group.first == group.last
		end
	end
	local left = {}
	for _, group in ipairs(filters) do
		if not satisfied[group] then
			left[#left + 1] = group
		end
	end
	filters = left
	if not intersects then
		local keys = {}
		for i = best.first, best.last do
			keys[#keys + 1] = KEYS[i]
		end
		return #keys > 0 and inOrder(keys) or finish('', '')
	end
	singles[#singles + 1] = 'AGGREGATE'
	singles[#singles + 1] = 'MAX'
	singles[#singles + 1] = 'WITHSCORES'
	local members = redis.call('ZINTER', #singles - 3, unpack(singles))
	unlimited = true
	local candidates = {}
	local from, to, step = 1, #members, 2
	if reverse == 1 then
		from, to, step = #members - 1, 1, -2
	end
	local begin = tonumber(score)
	for i = from, to, step do
		local s = members[i + 1]
		local returned = begin and (reverse == 0 and tonumber(s) < begin or reverse == 1 and tonumber(s) > begin)
		if not returned and not passed(s, members[i]) then
			candidates[#candidates + 1] = { id = members[i], value = '', position = s }
		end
	end
	local stopped = process(candidates)
	if stopped and stopped < #candidates then
		return finish(candidates[stopped].position, candidates[stopped].id)
	end
	return finish('', '')
end

if kind == 'z' then
	return ranges()
elseif kind == 'a' then
	return records()
end
return list()
