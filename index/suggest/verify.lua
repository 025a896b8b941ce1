-- Compares a few entries, terms or heads with what they must agree with, and
-- mends what does not, all in one step: no writer comes between. Preceded by
-- declare.lua and heads.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the heads of the index
-- KEYS[8]      hash: the heads of the index that a rebuild makes
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      which: heads, entries or content
-- ARGV[5]      the cursor of a scan, from '0'
-- ARGV[6]      how many, about
-- ARGV[7]      '1': mend
--
-- Reply        {cursor of the next, '0' at the end; how many were looked at;
--              for each problem kind, id, found, want and what was done:
--              'mended', 'mend' this prefix by mend.lua, or '';
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
local index, content, heads = KEYS[1], KEYS[2], KEYS[7]
local done = mend and 'mended' or ''
local problems = {}
local known      -- the heads of the prefixes of all terms that are looked at
local seen = {}  -- prefixes without one

local function problem(kind, id, found, want, action)
	for _, word in ipairs({kind, id, found, want, action or done}) do
		problems[#problems + 1] = word
	end
end

local function head(prefix)
	return 'the head of "' .. prefix .. '"'
end

-- mended calls redis where the caller wants things mended, and lets a rebuild
-- know of the term.
local function mended(name, ...)
	if mend then
		redis.call(...)
		if rebuilding and name then
			redis.call('SADD', KEYS[6], name)
		end
	end
end

-- led looks whether each of the heads that a term has reached leads to it.
local function led(name, count)
	for l = 0, #name do
		local prefix = sub(name, 1, l)
		if not known[prefix] then
			if not seen[prefix] and redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) > LIGHT then
				problem('missing', prefix, '', head(prefix), mend and 'mend' or '')
			end
			seen[prefix] = true
			break
		end
		if reaches(known[prefix], name, count) then
			local changed = insert(content, known[prefix], prefix, name)
			if changed ~= known[prefix] then
				problem('missing', name, '', head(prefix))
				known[prefix] = changed
				mended(nil, 'HSET', heads, prefix, changed.text)
			end
		end
	end
end

-- What the hash says of a term is right; where it says nothing, its entry is.
local function ofEntry(member, score)
	local name, count = entry(member)
	if not count then
		problem('dangling', member, member, '')
		mended(nil, 'ZREM', index, member)
		return
	end
	local value = redis.call('HGET', content, name)
	if not countOf(value) then
		value = text(count)
		problem('missing', name, '', value)
		mended(name, 'HSET', content, name, value)
	end
	local right = name .. ':' .. value
	if member ~= right then
		problem('stale', name, member, right)
		mended(nil, 'ZREM', index, member)
		mended(name, 'ZADD', index, 0, right)
		count = countOf(value)
	elseif tonumber(score) ~= 0 then
		problem('stale', name, member .. ' at ' .. score, member .. ' at 0')
		mended(nil, 'ZADD', index, 0, member)
	end
	led(name, count)
end

-- A term that has an entry, right or not, was looked at there. But where entries
-- were lost, writers may have put some back since, and have taken for granted
-- that heads lead to them.
local function ofContent(name, value)
	local count = countOf(value)
	if #redis.call('ZRANGEBYLEX', index, from(name .. ':'), to(name .. ':'), 'LIMIT', 0, 1) > 0 then
		if mend and count then
			led(name, count)
		end
		return
	end
	if not count or not find(name, '^[^:]+:[^:]*$') then
		problem('dangling', name, value, '')
		mended(name, 'HDEL', content, name)
		return
	end
	problem('missing', name, '', name .. ':' .. value)
	mended(name, 'ZADD', index, 0, name .. ':' .. value)
	if mend then
		led(name, count)
	end
end

-- twice tells whether a head has a name more than once.
local function twice(head)
	local had = {}
	for _, name in ipairs(members(head, '')) do
		if had[name] then
			return true
		end
		had[name] = true
	end
	return false
end

local function ofHead(prefix, found)
	local parsed = parse(found)
	if parsed.broken or twice(parsed) then
		problem('stale', prefix, found, head(prefix))
		mended(nil, 'HDEL', heads, prefix)
	elseif redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) == 0 then
		problem('dangling', prefix, head(prefix), '')
		mended(nil, 'HDEL', heads, prefix)
	end
end

local command, key, look = 'HSCAN', heads, ofHead
if ARGV[4] == 'entries' then
	command, key, look = 'ZSCAN', index, ofEntry
elseif ARGV[4] == 'content' then
	key, look = content, ofContent
end
local found = redis.call(command, key, ARGV[5], 'COUNT', ARGV[6])
local names, bytes = {}, 0
for i = 1, #found[2], 2 do
	local name = ARGV[4] == 'entries' and entry(found[2][i]) or found[2][i]
	names[#names + 1], bytes = name, bytes + #name
end
known = ARGV[4] ~= 'heads' and headsOf(heads, names, {})
for i = 1, #found[2], 2 do
	look(found[2][i], found[2][i + 1])
end
return {found[1], #found[2] / 2, problems, bytes}
