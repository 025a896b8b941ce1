-- Blocks a form, and removes the terms that have it, some at a time. Preceded by
-- declare.lua and heads.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the heads of the index
-- KEYS[8]      hash: the heads of the index that a rebuild makes
-- KEYS[9]      set: the forms that are blocked
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the form
-- ARGV[5]      how many terms to remove, at most
--
-- Reply        1 where there may be more of them: call again

local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
redis.call('SADD', KEYS[9], ARGV[4])

-- clear removes terms of the form from an index, the present one or that of a
-- rebuild: from now on none comes to either.
local function clear(index, content, heads)
	local prefix = ARGV[4] .. ':'
	local found = redis.call('ZRANGEBYLEX', index, from(prefix), to(prefix), 'LIMIT', 0, ARGV[5])
	local names, orphans = {}, {}
	for _, member in ipairs(found) do
		local name, count = entry(member)
		local value = count and redis.call('HGET', content, name)
		if value and name .. ':' .. value == member then
			names[#names + 1] = name
		else
			orphans[#orphans + 1] = member
		end
	end
	store(index, content, heads, changesOf(content, names))
	each('ZREM', index, orphans)
	if rebuilding and index == KEYS[1] then
		each('SADD', KEYS[6], names)
	end
	return #found == tonumber(ARGV[5])
end

local more = clear(KEYS[1], KEYS[2], KEYS[7])
if rebuilding then
	more = clear(KEYS[4], KEYS[5], KEYS[8]) or more
end
return more and 1 or 0
