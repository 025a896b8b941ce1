-- Puts triples of the source into the new graph of a Rebuild. finish.lua adds concurrent
-- writes. Preceded by declare.lua and entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5..]   subject, predicate, object of each triple, escaped; at most 100
--
-- Reply    0

local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local scored = {}
for i = 5, #ARGV, 3 do
	local s, p, o = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	append(scored, {primary(s, p, o)})
	append(scored, secondary(s, p, o))
end
redis.call('ZADD', KEYS[4], unpack(scored))
return 0
