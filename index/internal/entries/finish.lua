-- Applies concurrent writes to the new index of a Rebuild, a hundred ids per call. Preceded by
-- declare.lua and by finish.lua of package maintain.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
--
-- Reply  1 if the new index is in place, 0: call again
local refusal = finishing(ARGV[4])
if refusal then
	return refusal
end
local ids = changes(100)
if #ids > 0 then
	write(KEYS[4], KEYS[5], ids, values(KEYS[1], KEYS[2], ids))
end
return finished({KEYS[1], KEYS[4], KEYS[2], KEYS[5]})
