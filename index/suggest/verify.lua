-- Compares some entries, terms or cached lists with the rest of the index and repairs
-- differences, atomically. Preceded by declare.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      which: lists, entries or content
-- ARGV[5]      the cursor of a scan, from '0'
-- ARGV[6]      how many, approximately
-- ARGV[7]      '1': repair
--
-- Reply        {next cursor, '0' at the end; how many were compared;
--              for each problem kind, id, found, want and the action:
--              'repaired', 'rebuild' the list of this prefix by rebuild_list.lua, or '';
--              the bytes of the terms that were compared}

local repair = ARGV[7] == '1'
local rebuilding, refusal, _
if repair then
	rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
else
	_, refusal = remembered(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
end
if refusal then
	return refusal
end
local index, content, cache = KEYS[1], KEYS[2], KEYS[7]
local done = repair and 'repaired' or ''
local problems = {}
local known      -- the lists of the prefixes of all terms that are compared
local seen = {}  -- prefixes without a list
local payloads = false

local function problem(kind, id, found, want, action)
	for _, field in ipairs({kind, id, found, want, action or done}) do
		problems[#problems + 1] = field
	end
end

local function list(prefix)
	return 'the cached list of "' .. prefix .. '"'
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

-- checkLists checks that each list that a term must be in has it.
local function checkLists(term, count)
	for l = 0, #term do
		local prefix = sub(term, 1, l)
		if not known[prefix] then
			if not seen[prefix] and redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) > SCAN_LIMIT then
				problem('missing', prefix, '', list(prefix), repair and 'rebuild' or '')
			end
			seen[prefix] = true
			break
		end
		if belongs(known[prefix], term, count) then
			local changed = insert(content, known[prefix], prefix, term)
			if changed ~= known[prefix] then
				problem('missing', term, '', list(prefix))
				known[prefix] = changed
				fix(nil, 'HSET', cache, prefix, changed.text)
			end
		end
	end
end

-- checkEntry compares an entry with its term, which wins if it is valid.
local function checkEntry(member, score)
	local term, count = entry(member)
	if not count then
		problem('dangling', member, member, '')
		fix(nil, 'ZREM', index, member)
		return
	end
	local stored, digits, payload = split(redis.call('HGET', content, term))
	if not stored then
		stored, digits = count, text(count)
		problem('missing', term, '', digits)
		fix(term, 'HSET', content, term, digits .. (payload or ''))
	end
	local right = term .. ':' .. digits
	if member ~= right then
		problem('stale', term, member, right)
		fix(nil, 'ZREM', index, member)
		fix(term, 'ZADD', index, 0, right)
		count = stored
	elseif tonumber(score) ~= 0 then
		problem('stale', term, member .. ' at ' .. score, member .. ' at 0')
		fix(nil, 'ZADD', index, 0, member)
	end
	checkLists(term, count)
end

-- checkContent restores the entry of a term. A term with an entry was compared with it
-- already. But if entries were lost, a writer may have restored this one and assumed that
-- the lists have its term.
local function checkContent(term, value)
	local count, digits, payload = split(value)
	payloads = payloads or payload ~= nil
	if #redis.call('ZRANGEBYLEX', index, from(term .. ':'), to(term .. ':'), 'LIMIT', 0, 1) > 0 then
		if repair and count then
			checkLists(term, count)
		end
		return
	end
	if not count or not find(term, '^[^:]+:[^:]*$') then
		problem('dangling', term, value, '')
		fix(term, 'HDEL', content, term)
		return
	end
	problem('missing', term, '', term .. ':' .. digits)
	fix(term, 'ZADD', index, 0, term .. ':' .. digits)
	if repair then
		checkLists(term, count)
	end
end

-- hasDuplicates reports whether a list has a term twice.
local function hasDuplicates(list)
	local seen = {}
	for _, term in ipairs(members(list, '')) do
		if seen[term] then
			return true
		end
		seen[term] = true
	end
	return false
end

-- checkShorter checks that the shorter prefixes of one with a list have theirs. A list of
-- few terms is not needed, so that its shorter ones need not be rebuilt for it.
local function checkShorter(prefix)
	for l = #prefix - 1, 0, -1 do
		local shorter = sub(prefix, 1, l)
		if not seen[shorter] and redis.call('HEXISTS', cache, shorter) == 0 then
			if redis.call('ZLEXCOUNT', index, from(shorter), to(shorter)) <= UNCACHE_AT then
				problem('dangling', prefix, list(prefix), '')
				fix(nil, 'HDEL', cache, prefix)
				return
			end
			problem('missing', shorter, '', list(shorter), repair and 'rebuild' or '')
		end
		seen[shorter] = true
	end
end

-- A list of few terms is left of entries that were lost, or were there twice: the removal
-- of a term deletes it. While entries are lost, the number says nothing.
local whole = redis.call('ZCARD', index) == redis.call('HLEN', content)

local function checkList(prefix, found)
	if prefix == '\n' then
		return
	end
	local parsed, n = parse(found), redis.call('ZLEXCOUNT', index, from(prefix), to(prefix))
	if parsed.broken or hasDuplicates(parsed) then
		problem('stale', prefix, found, list(prefix))
		fix(nil, 'HDEL', cache, prefix)
	elseif n == 0 or n <= UNCACHE_AT and whole then
		problem('dangling', prefix, list(prefix), '')
		fix(nil, 'HDEL', cache, prefix)
	else
		checkShorter(prefix)
	end
end

-- The field \n says whether every list that a longer one needs was found; see topk.lua.
-- It is stored if there was no problem, and no script has made a list without these
-- meanwhile, and so deleted it.
local checking = repair and ARGV[4] == 'lists' and not closed(cache)
if checking and ARGV[5] == '0' then
	redis.call('HSET', cache, '\n', 'checking')
end

local command, key, check = 'HSCAN', cache, checkList
if ARGV[4] == 'entries' then
	command, key, check = 'ZSCAN', index, checkEntry
elseif ARGV[4] == 'content' then
	key, check = content, checkContent
end
local found = redis.call(command, key, ARGV[5], 'COUNT', ARGV[6])
local terms, bytes = {}, 0
for i = 1, #found[2], 2 do
	local term = ARGV[4] == 'entries' and entry(found[2][i]) or found[2][i]
	terms[#terms + 1], bytes = {term = term}, bytes + #term
end
known = ARGV[4] ~= 'lists' and listsOf(cache, terms, {})
for i = 1, #found[2], 2 do
	check(found[2][i], found[2][i + 1])
end
if payloads and redis.call('HEXISTS', KEYS[3], 'payloads') == 0 then
	problem('missing', KEYS[3], '', 'payloads')
	fix(nil, 'HSET', KEYS[3], 'payloads', 1)
end
if repair and ARGV[4] == 'lists' and #problems > 0 then
	redis.call('HDEL', cache, '\n')
elseif checking and found[1] == '0' and redis.call('HGET', cache, '\n') == 'checking' then
	close(cache)
end
return {found[1], #found[2] / 2, problems, bytes}
