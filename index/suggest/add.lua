-- Counts searches for terms. Preceded by declare.lua and heads.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the heads of the index
-- KEYS[8]      hash: the heads of the index that a rebuild makes
-- KEYS[9]      set: the forms that are blocked
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the rebuild that is filling the next index; empty: the present one
-- ARGV[5]      half-lives since 1970; empty: nothing is forgotten by time, and
--              half-lives since 1970 are the counts' own unit otherwise
-- ARGV[6]…     name, how many, for each term; a name once
--
-- Reply        the new count of each as text, "0" for one that is blocked
--
-- What a rebuild fills in of terms that others write meanwhile does not matter:
-- rebuild.lua brings those up in the end.

local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
local index, content, heads = KEYS[1], KEYS[2], KEYS[7]
local filling = ARGV[4] ~= ''
if filling then
	local ended = replaced(KEYS[3], ARGV[4])
	if ended then
		return ended
	end
	index, content, heads = KEYS[4], KEYS[5], KEYS[8]
end

local names, forms = {}, {}
for i = 6, #ARGV, 2 do
	names[#names + 1] = ARGV[i]
	forms[#forms + 1] = string.match(ARGV[i], '^[^:]*')
end
local blocked = redis.call('SMISMEMBER', KEYS[9], unpack(forms))

local now = tonumber(ARGV[5])
local most = 9007199254740991

-- sum adds searches to a count. With a half-life a count is the logarithm of
-- what the searches would weigh at the end of time, in half-lives: each weighs
-- double what one weighed a half-life before. So waiting changes no order.
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

local reply, changes, ids = {}, {}, {}
for i, c in ipairs(changesOf(content, names)) do
	if blocked[i] == 1 then
		reply[i] = '0'
	else
		c.count = sum(c.was, tonumber(ARGV[2 * i + 5]))
		reply[i] = text(c.count)
		changes[#changes + 1] = c
		ids[#ids + 1] = c.name
	end
end
store(index, content, heads, changes)
if rebuilding and not filling then
	each('SADD', KEYS[6], ids)
end
return reply
