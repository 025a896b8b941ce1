-- Removes triples in every order. Preceded by declare.lua and entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   subject, predicate, object of each triple, escaped; at most 100
--
-- Reply    the number of triples that existed

local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local ids, rest = {}, {}
for i = 4, #ARGV, 3 do
	local s, p, o = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	ids[#ids + 1] = primary(s, p, o)
	for _, entry in ipairs(secondary(s, p, o)) do
		rest[#rest + 1] = entry
	end
end
if rebuilding then
	redis.call('SADD', KEYS[6], unpack(ids))
end
local removed = redis.call('ZREM', KEYS[1], unpack(ids))
redis.call('ZREM', KEYS[1], unpack(rest))
return removed
