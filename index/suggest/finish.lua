-- Copies terms that writers changed during a Rebuild to the new index. Preceded by declare.lua,
-- finish.lua of package maintain, value.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the name of the run
-- ARGV[5]      the maximum number of terms
-- ARGV[6]      the number of bytes of terms after which the script stops
--
-- Reply        1 if the new index is in place, 0: call again

local refusal = finishing(ARGV[4])
if refusal then
	return refusal
end
local terms = changes(tonumber(ARGV[5]), tonumber(ARGV[6]))
if #terms > 0 then
	local made = changesOf(KEYS[5], terms)
	for i, now in ipairs(changesOf(KEYS[2], terms)) do
		made[i].count, made[i].text = now.was, now.was and now.value or nil
	end
	store(KEYS[4], KEYS[5], KEYS[8], made)
end
return finished({KEYS[1], KEYS[4], KEYS[2], KEYS[5], KEYS[7], KEYS[8]})
