-- Removes terms, or decrements their counts. Preceded by declare.lua, value.lua and
-- topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- KEYS[9]      set: the blocked terms
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      all: remove the terms;
--              block: remove and block the terms;
--              lose: decrement each count, and remove terms at 0;
--              below: remove terms with a smaller count
-- ARGV[5]      the decrement, or the count
-- ARGV[6]…     terms, each once
--
-- Reply        number of terms removed

local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
local mode, amount, terms = ARGV[4], tonumber(ARGV[5]), {}
for i = 6, #ARGV do
	terms[#terms + 1] = ARGV[i]
end
if mode == 'block' then
	redis.call('SADD', KEYS[9], unpack(terms))
end
local unconditional = mode == 'all' or mode == 'block'

-- Record even missing terms for a rebuild, since the source of the rebuild may have them.
local removed, changes, ids = 0, {}, {}
for _, c in ipairs(changesOf(KEYS[2], terms)) do
	local kept = mode == 'below' and c.was and c.was >= amount
	if mode == 'lose' and c.was and c.was > amount then
		local list, payload = spellingsOf(c.value)
		decrement(list, c.term, amount)
		c.count = c.was - amount
		c.text = valueOf(c.term, c.count, list, payload)
	end
	if c.value and not kept then
		changes[#changes + 1] = c
		removed = removed + (c.count and 0 or 1)
	end
	if c.value and not kept or unconditional then
		ids[#ids + 1] = c.term
	end
end
store(KEYS[1], KEYS[2], KEYS[7], changes)
if rebuilding then
	each('SADD', KEYS[6], ids)
end
return removed
