-- Removes terms, or decrements their counts. Preceded by declare.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      all: remove them;
--              lose: decrement each count, and remove terms at 0;
--              below: remove terms with a smaller count
-- ARGV[5]      the decrement, or the count
-- ARGV[6]…     terms, each once
--
-- Reply        how many terms were removed

local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
local terms = {}
for i = 6, #ARGV do
	terms[#terms + 1] = ARGV[i]
end

-- Record even terms that do not exist for a rebuild: its source may have them.
local removed, changes, ids = 0, {}, {}
for _, c in ipairs(changesOf(KEYS[2], terms)) do
	if c.was and ARGV[4] == 'lose' and c.was > tonumber(ARGV[5]) then
		c.count = c.was - ARGV[5]
	end
	local stays = ARGV[4] == 'below' and c.was and c.was >= tonumber(ARGV[5])
	if c.value and not stays then
		changes[#changes + 1] = c
		removed = removed + (c.count and 0 or 1)
	end
	if c.value and not stays or ARGV[4] == 'all' then
		ids[#ids + 1] = c.term
	end
end
store(KEYS[1], KEYS[2], KEYS[7], changes)
if rebuilding then
	each('SADD', KEYS[6], ids)
end
return removed
