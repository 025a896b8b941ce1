-- Puts entries into the numeric index that a Rebuild makes. What writers changed since it
-- began is for numeric_finish.lua.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5..]   id, score, id, score, ...
--
-- Reply  0
local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local pairs = {}
for i = 5, #ARGV, 2 do
	pairs[#pairs + 1] = ARGV[i + 1]
	pairs[#pairs + 1] = ARGV[i]
end
redis.call('ZADD', KEYS[4], unpack(pairs))
return 0
