-- Catches up with the terms that writers changed during a Rebuild. Preceded by
-- declare.lua, the finish.lua of package maintain and heads.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the heads of the index
-- KEYS[8]      hash: the heads of the index that is made
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the name of the run
-- ARGV[5]      how many terms at most
-- ARGV[6]      after how many bytes of names no more are taken
--
-- Reply        1 when the new index is in place, 0: call again

local refusal = finishing(ARGV[4])
if refusal then
	return refusal
end
local names = changes(tonumber(ARGV[5]), tonumber(ARGV[6]))
if #names > 0 then
	local terms = changesOf(KEYS[5], names)
	for i, now in ipairs(changesOf(KEYS[2], names)) do
		terms[i].count = now.was
	end
	store(KEYS[4], KEYS[5], KEYS[8], terms)
end
return finished({KEYS[1], KEYS[4], KEYS[2], KEYS[5], KEYS[7], KEYS[8]})
