-- Puts triples in every order. Preceded by declare.lua and entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   subject, predicate, object of each triple, escaped; at most 100
--
-- Reply    the number of new triples

local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local ids, rest = {}, {}
for i = 4, #ARGV, 3 do
	local s, p, o = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	ids[#ids + 1] = primary(s, p, o)
	append(rest, secondary(s, p, o))
end
if rebuilding then
	redis.call('SADD', KEYS[6], unpack(ids))
end
local first = {}
append(first, ids)
local new = redis.call('ZADD', KEYS[1], unpack(first))
redis.call('ZADD', KEYS[1], unpack(rest))
return new
