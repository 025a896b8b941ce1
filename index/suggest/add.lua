-- Counts searches for terms. Preceded by declare.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- KEYS[9]      set: the blocked forms
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the rebuild whose new index is filled; empty: the present index
-- ARGV[5]      half-lives since 1970, the unit of counts with a half-life; empty: no
--              half-life
-- ARGV[6]      '1': reply with the counts
-- ARGV[7]…     term, value, …; each term once. A value is a number of searches to add, or
--              '=' and a count that replaces the present one. A line feed and a payload
--              may follow: without them '=' removes the payload, and a number keeps it
--
-- Reply        the new count of each as text, "0" for a blocked one; or none
--
-- A term that a rebuild fills while another client writes it may get a wrong count:
-- rebuild.lua corrects it at the end.

local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
local index, content, cache = KEYS[1], KEYS[2], KEYS[7]
local filling = ARGV[4] ~= ''
if filling then
	local ended = replaced(KEYS[3], ARGV[4])
	if ended then
		return ended
	end
	index, content, cache = KEYS[4], KEYS[5], KEYS[8]
end

local terms, n = {}, 0
for i = 7, #ARGV, 2 do
	n = n + 1
	terms[n] = ARGV[i]
end

-- blockedOf returns 1 for each blocked term.
local function blockedOf()
	if redis.call('EXISTS', KEYS[9]) == 0 then
		return {}
	end
	local forms = {}
	for i = 1, n do
		forms[i] = string.match(terms[i], '^[^:]*')
	end
	return redis.call('SMISMEMBER', KEYS[9], unpack(forms))
end

local now = tonumber(ARGV[5])
local most = 9007199254740991

-- sum adds searches to a count. With a half-life a search weighs twice as much as one a
-- half-life earlier, and a count is the binary logarithm of the sum of the weights. So
-- the passage of time changes neither counts nor their order.
local function sum(was, n)
	if not now then
		return math.min((was or 0) + n, most)
	end
	local fresh = now + math.log(n) / math.log(2)
	if not was then
		return fresh
	end
	local more, less = math.max(was, fresh), math.min(was, fresh)
	return more + math.log(1 + 2 ^ (less - more)) / math.log(2)
end

local payloads = false

-- apply sets the new count and payload of a change.
local function apply(c, value)
	-- Not tonumber alone: it ignores the line feed, and a payload of blanks.
	if not c.was and not now and find(value, '^%d+$') then
		c.count, c.digits = tonumber(value), value
		return
	end
	local replaces = byte(value) == 61
	local n, _, payload = split(replaces and sub(value, 2) or value)
	c.count = sum(not replaces and c.was or nil, n)
	if replaces or payload then
		c.old, c.payload = c.old or c.value, payload
		payloads = payloads or payload ~= nil
	end
end

local blocked, found = blockedOf(), changesOf(content, terms)
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
local reply, ids = {}, {}
if ARGV[6] == '1' then
	for i = 1, n do
		reply[i] = found[i].digits or '0'
	end
end
if rebuilding and not filling then
	for i = 1, m do
		ids[i] = changes[i].term
	end
	each('SADD', KEYS[6], ids)
end
return reply
