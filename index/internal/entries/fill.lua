-- Puts entries of the source into the new index of a Rebuild. finish.lua adds concurrent writes.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5..]   id, value, id, value, ...; each id once
--
-- Reply  0
local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local ids, new, n = {}, {}, 0
for i = 5, #ARGV, 2 do
	n = n + 1
	ids[n], new[n] = ARGV[i], ARGV[i + 1]
end
write(KEYS[4], KEYS[5], ids, new)
return 0
