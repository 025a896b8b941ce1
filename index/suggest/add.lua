-- Counts searches for terms. Preceded by declare.lua, value.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- KEYS[9]      set: the blocked terms
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the rebuild whose new index is filled; empty: the current index
-- ARGV[5]      the half-life in microseconds; empty: none
-- ARGV[6]      '1': reply with the counts
-- ARGV[7]…     term, value, …; each term once. A value has the searches to add: a count, a tab
--              and a spelling, …; a count alone is for the spelling that equals the term. A
--              leading '=' replaces the searches of the term. A line feed and a payload may
--              follow; without a payload, '=' removes the stored payload, else it is kept
--
-- Reply        with ARGV[6] '1', the new count of each term as text, "0" for a blocked term, and
--              the time in half-lives since 1970, "0" without a half-life; otherwise empty
--
-- If another client writes a term while a rebuild fills the term, the count of the term may be
-- wrong until finish.lua corrects it.

local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
local index, content, cache = KEYS[1], KEYS[2], KEYS[7]
local filling = ARGV[4] ~= ''
if filling then
	local refused = replaced(KEYS[3], ARGV[4])
	if refused then
		return refused
	end
	index, content, cache = KEYS[4], KEYS[5], KEYS[8]
end

local terms, n = {}, 0
for i = 7, #ARGV, 2 do
	n = n + 1
	terms[n] = ARGV[i]
end
local blocked = redis.call('EXISTS', KEYS[9]) == 1 and redis.call('SMISMEMBER', KEYS[9], unpack(terms)) or {}

local now = halfLives(ARGV[5])
local maxCount = 9007199254740991

-- sum adds searches to a count. With a half-life, a search weighs twice as much as a search one
-- half-life earlier, and a count is the binary logarithm of the sum of the weights. So counts and
-- their order do not change as time passes.
local function sum(was, n)
	if not now then
		return math.min((was or 0) + n, maxCount)
	end
	local fresh = now + math.log(n) / math.log(2)
	if not was then
		return fresh
	end
	local larger, smaller = math.max(was, fresh), math.min(was, fresh)
	return larger + math.log(1 + 2 ^ (smaller - larger)) / math.log(2)
end

local payloads = false

-- apply sets the new count and value of a change.
local function apply(c, value)
	-- In most cases the only spelling is the current spelling of the term.
	local single, spelling = match(value, '^(%d+)(\t?[^\t\n]*)$')
	if single and (not c.was or match(c.value, '^[%d.]+(\t?[^\t\n]*)$') == spelling) then
		c.count = sum(c.was, tonumber(single))
		c.text = (c.was or now) and text(c.count) .. spelling or value
		return
	end
	local replaces = byte(value) == 61
	local list, payload = {}, nil
	if c.was and not replaces then
		c.count = c.was
		list, payload = spellingsOf(c.value)
	end
	local votes = headOf(value)
	local stored = sub(value, #votes + 2)
	if stored ~= '' then
		payload, payloads = stored, true
	end
	for count, spelling in string.gmatch(votes, '(%d+)\t?([^\t]*)') do
		local searches = tonumber(count)
		c.count = sum(c.count, searches)
		vote(list, c.term, spelling, function(was) return sum(was, searches) end)
	end
	c.text = valueOf(c.term, c.count, list, payload)
end

local found = changesOf(content, terms)
local changes, m = {}, 0
for i = 1, n do
	if blocked[i] ~= 1 then
		apply(found[i], ARGV[2 * i + 6])
		m = m + 1
		changes[m] = found[i]
	end
end
store(index, content, cache, changes)
if payloads then
	redis.call('HSET', KEYS[3], 'payloads', 1)
end
if rebuilding and not filling then
	local ids = {}
	for i = 1, m do
		ids[i] = changes[i].term
	end
	each('SADD', KEYS[6], ids)
end
local reply = {}
if ARGV[6] ~= '1' then
	return reply
end
for i = 1, n do
	reply[i] = found[i].count and text(found[i].count) or '0'
end
reply[n + 1] = now and text(now) or '0'
return reply
