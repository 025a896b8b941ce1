-- Removes terms, or lets them lose some searches. Preceded by declare.lua and
-- heads.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the heads of the index
-- KEYS[8]      hash: the heads of the index that a rebuild makes
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      all: remove them;
--              lose: take some searches from each, and remove those with none;
--              below: remove those with a smaller count
-- ARGV[5]      how many searches, or which count
-- ARGV[6]…     names, each once
--
-- Reply        how many terms have gone

local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
local names = {}
for i = 6, #ARGV do
	names[#names + 1] = ARGV[i]
end

-- A rebuild must hear of a term that goes even where it is not there: its source
-- may have it.
local gone, changes, ids = 0, {}, {}
for _, c in ipairs(changesOf(KEYS[2], names)) do
	if c.was and ARGV[4] == 'lose' and c.was > tonumber(ARGV[5]) then
		c.count = c.was - ARGV[5]
	end
	local stays = ARGV[4] == 'below' and c.was and c.was >= tonumber(ARGV[5])
	if c.value and not stays then
		changes[#changes + 1] = c
		gone = gone + (c.count and 0 or 1)
	end
	if c.value and not stays or ARGV[4] == 'all' then
		ids[#ids + 1] = c.name
	end
end
store(KEYS[1], KEYS[2], KEYS[7], changes)
if rebuilding then
	each('SADD', KEYS[6], ids)
end
return gone
