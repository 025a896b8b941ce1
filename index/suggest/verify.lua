-- Compares entries or terms with each other and with the cached lists, and repairs differences,
-- atomically. Preceded by declare.lua, value.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      which: entries or content
-- ARGV[5]      the cursor of a scan, from '0'
-- ARGV[6]      approximate number of entries or terms
-- ARGV[7]      '1': repair
--
-- Reply        {next cursor, '0' at the end; the number compared;
--              for each problem kind, id, found and want; the bytes of the terms that were
--              compared}

local repair = ARGV[7] == '1'
local rebuilding, refusal, _
if repair then
	rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
else
	_, refusal = readDeclaration(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
end
if refusal then
	return refusal
end
local index, content, cache = KEYS[1], KEYS[2], KEYS[7]
local problems, known, payloads = {}, nil, false

-- problem reports a problem.
local function problem(kind, id, found, want)
	for _, field in ipairs({kind, id, found, want}) do
		problems[#problems + 1] = field
	end
end

-- fix calls a command if this is a repair, and records the term for a rebuild.
local function fix(term, ...)
	if repair then
		redis.call(...)
		if rebuilding and term then
			redis.call('SADD', KEYS[6], term)
		end
	end
end

-- markLost reports that the list of a prefix is wrong. In a repair it marks the list as lost, so
-- that the next completion rebuilds it.
local function markLost(id, prefix)
	problem('missing', id, '', 'the cached list of "' .. prefix .. '"')
	fix(nil, 'HSET', cache, prefix, '?')
	known[prefix] = {lost = true}
end

-- checkLists checks that every list to which a term belongs contains it, and that all shorter
-- prefixes of a prefix with a list have lists, too.
local function checkLists(term, count)
	local gaps = {}
	for l = 0, #term do
		local prefix = sub(term, 1, l)
		local list = known[prefix]
		if not list then
			gaps[#gaps + 1] = prefix
		else
			for _, gap in ipairs(gaps) do
				markLost(gap, gap)
			end
			gaps = {}
			if not list.lost and belongs(list, term, count) and not find(list.text, '\n' .. sub(term, l + 1) .. '\n', 1, true) then
				markLost(term, prefix)
			end
		end
	end
end

-- checkEntry compares an entry with its term, which wins if the term is valid.
local function checkEntry(member, score)
	local term, count, head = entry(member)
	if not count then
		problem('dangling', member, member, '')
		fix(nil, 'ZREM', index, member)
		return
	end
	local value = redis.call('HGET', content, term)
	local stored = countOf(value)
	if not stored then
		problem('missing', term, '', head)
		value, stored = value and head .. sub(value, #headOf(value) + 1) or head, count
		fix(term, 'HSET', content, term, value)
	end
	local expected = term .. '\t' .. headOf(value)
	if member ~= expected then
		problem('stale', term, member, expected)
		fix(nil, 'ZREM', index, member)
		fix(term, 'ZADD', index, 0, expected)
	elseif tonumber(score) ~= 0 then
		problem('stale', term, member .. ' at ' .. score, member .. ' at 0')
		fix(nil, 'ZADD', index, 0, member)
	end
	checkLists(term, stored)
end

-- checkContent restores the entry of a term. A term with an entry has been compared already.
-- But a writer may have restored a lost entry meanwhile, assuming that the lists contain the
-- term.
local function checkContent(term, value)
	local count = countOf(value)
	payloads = payloads or match(value, '^[^\n]*\n[^\n]') ~= nil
	if #redis.call('ZRANGEBYLEX', index, from(term .. '\t'), to(term .. '\t'), 'LIMIT', 0, 1) > 0 then
		if repair and count then
			checkLists(term, count)
		end
		return
	end
	if not count or not find(term, '^[^\t\n]+$') then
		problem('dangling', term, value, '')
		fix(term, 'HDEL', content, term)
		return
	end
	problem('missing', term, '', term .. '\t' .. headOf(value))
	fix(term, 'ZADD', index, 0, term .. '\t' .. headOf(value))
	checkLists(term, count)
end

local command, key, check = 'ZSCAN', index, checkEntry
if ARGV[4] == 'content' then
	command, key, check = 'HSCAN', content, checkContent
end
local found = redis.call(command, key, ARGV[5], 'COUNT', ARGV[6])
local terms, bytes = {}, 0
for i = 1, #found[2], 2 do
	local term = command == 'ZSCAN' and entry(found[2][i]) or found[2][i]
	terms[#terms + 1], bytes = {term = term}, bytes + #term
end
known = listsOf(cache, terms)
for i = 1, #found[2], 2 do
	check(found[2][i], found[2][i + 1])
end
if payloads and redis.call('HEXISTS', KEYS[3], 'payloads') == 0 then
	problem('missing', KEYS[3], '', 'payloads')
	fix(nil, 'HSET', KEYS[3], 'payloads', 1)
end
return {found[1], #found[2] / 2, problems, bytes}
