-- Blocks a normalized form and removes a batch of its terms. Preceded by declare.lua
-- and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- KEYS[9]      set: the blocked forms
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the form
-- ARGV[5]      the maximum number of terms to remove
--
-- Reply        1: there may be more of them, call again

local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
redis.call('SADD', KEYS[9], ARGV[4])

-- clear removes terms of the form from the present index or from the new index of a
-- rebuild. Since the form is blocked, no writer adds more to either.
local function clear(index, content, cache)
	local prefix = ARGV[4] .. ':'
	local found = redis.call('ZRANGEBYLEX', index, from(prefix), to(prefix), 'LIMIT', 0, ARGV[5])
	local terms, orphans = {}, {}
	for _, member in ipairs(found) do
		local term, count = entry(member)
		local _, digits = split(count and redis.call('HGET', content, term))
		if digits and term .. ':' .. digits == member then
			terms[#terms + 1] = term
		else
			orphans[#orphans + 1] = member
		end
	end
	store(index, content, cache, changesOf(content, terms))
	each('ZREM', index, orphans)
	if rebuilding and index == KEYS[1] then
		each('SADD', KEYS[6], terms)
	end
	return #found == tonumber(ARGV[5])
end

local more = clear(KEYS[1], KEYS[2], KEYS[7])
if rebuilding then
	more = clear(KEYS[4], KEYS[5], KEYS[8]) or more
end
return more and 1 or 0
