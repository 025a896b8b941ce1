-- Puts triples of the source into the index that a rebuild makes. What writers
-- have changed since it began is for swap.lua. Preceded by declare.lua and
-- entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the rebuild
-- ARGV[5..]   subject, predicate, object of each triple, escaped; at most 100
--
-- Reply    0, or -1: another rebuild is under way

local _, refusal = declared(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
if redis.call('HGET', KEYS[3], 'rebuild') ~= ARGV[4] then
	return -1
end
local scored = {}
for i = 5, #ARGV, 3 do
	local s, p, o = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	append(scored, {known(s, p, o)})
	append(scored, others(s, p, o))
end
redis.call('ZADD', KEYS[4], unpack(scored))
return 0
