-- Compares a few entries, terms or heads with what they must agree with, and
-- mends what does not, all in one step: no writer comes between. Preceded by
-- declare.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      which: heads, entries or content
-- ARGV[5]      the cursor of a scan, from '0'
-- ARGV[6]      how many, about
-- ARGV[7]      '1': mend
--
-- Reply        {cursor of the next, '0' at the end; how many were looked at;
--              for each problem kind, id, found, want and what was done:
--              'mended', 'mend' this prefix by rebuild_list.lua, or '';
--              how many bytes the names have that were looked at}

local mend = ARGV[7] == '1'
local rebuilding, refusal, _
if mend then
	rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
else
	_, refusal = remembered(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
end
if refusal then
	return refusal
end
local index, content, cache = KEYS[1], KEYS[2], KEYS[7]
local done = mend and 'mended' or ''
local problems = {}
local known      -- the heads of the prefixes of all terms that are looked at
local seen = {}  -- prefixes without one

local function problem(kind, id, found, want, action)
	for _, word in ipairs({kind, id, found, want, action or done}) do
		problems[#problems + 1] = word
	end
end

local function list(prefix)
	return 'the cached list of "' .. prefix .. '"'
end

-- mended calls redis where the caller wants things mended, and lets a rebuild
-- know of the term.
local function mended(term, ...)
	if mend then
		redis.call(...)
		if rebuilding and term then
			redis.call('SADD', KEYS[6], term)
		end
	end
end

-- led looks whether each of the heads that a term has reached leads to it.
local function checkLists(term, count)
	for l = 0, #term do
		local prefix = sub(term, 1, l)
		if not known[prefix] then
			if not seen[prefix] and redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) > SCAN_LIMIT then
				problem('missing', prefix, '', list(prefix), mend and 'mend' or '')
			end
			seen[prefix] = true
			break
		end
		if belongs(known[prefix], term, count) then
			local changed = insert(content, known[prefix], prefix, term)
			if changed ~= known[prefix] then
				problem('missing', term, '', list(prefix))
				known[prefix] = changed
				mended(nil, 'HSET', cache, prefix, changed.text)
			end
		end
	end
end

-- What the hash says of a term is right; where it says nothing, its entry is.
local function ofEntry(member, score)
	local term, count = entry(member)
	if not count then
		problem('dangling', member, member, '')
		mended(nil, 'ZREM', index, member)
		return
	end
	local value = redis.call('HGET', content, term)
	if not countOf(value) then
		value = text(count)
		problem('missing', term, '', value)
		mended(term, 'HSET', content, term, value)
	end
	local right = term .. ':' .. value
	if member ~= right then
		problem('stale', term, member, right)
		mended(nil, 'ZREM', index, member)
		mended(term, 'ZADD', index, 0, right)
		count = countOf(value)
	elseif tonumber(score) ~= 0 then
		problem('stale', term, member .. ' at ' .. score, member .. ' at 0')
		mended(nil, 'ZADD', index, 0, member)
	end
	checkLists(term, count)
end

-- A term that has an entry, right or not, was looked at there. But where entries
-- were lost, writers may have put some back since, and have taken for granted
-- that heads lead to them.
local function ofContent(term, value)
	local count = countOf(value)
	if #redis.call('ZRANGEBYLEX', index, from(term .. ':'), to(term .. ':'), 'LIMIT', 0, 1) > 0 then
		if mend and count then
			checkLists(term, count)
		end
		return
	end
	if not count or not find(term, '^[^:]+:[^:]*$') then
		problem('dangling', term, value, '')
		mended(term, 'HDEL', content, term)
		return
	end
	problem('missing', term, '', term .. ':' .. value)
	mended(term, 'ZADD', index, 0, term .. ':' .. value)
	if mend then
		checkLists(term, count)
	end
end

-- twice tells whether a head has a name more than once.
local function twice(list)
	local had = {}
	for _, term in ipairs(members(list, '')) do
		if had[term] then
			return true
		end
		had[term] = true
	end
	return false
end

local function ofHead(prefix, found)
	local parsed = parse(found)
	if parsed.broken or twice(parsed) then
		problem('stale', prefix, found, list(prefix))
		mended(nil, 'HDEL', cache, prefix)
	elseif redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) == 0 then
		problem('dangling', prefix, list(prefix), '')
		mended(nil, 'HDEL', cache, prefix)
	end
end

local command, key, look = 'HSCAN', cache, ofHead
if ARGV[4] == 'entries' then
	command, key, look = 'ZSCAN', index, ofEntry
elseif ARGV[4] == 'content' then
	key, look = content, ofContent
end
local found = redis.call(command, key, ARGV[5], 'COUNT', ARGV[6])
local terms, bytes = {}, 0
for i = 1, #found[2], 2 do
	local term = ARGV[4] == 'entries' and entry(found[2][i]) or found[2][i]
	terms[#terms + 1], bytes = term, bytes + #term
end
known = ARGV[4] ~= 'heads' and listsOf(cache, terms, {})
for i = 1, #found[2], 2 do
	look(found[2][i], found[2][i + 1])
end
return {found[1], #found[2] / 2, problems, bytes}
