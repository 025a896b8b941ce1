-- Puts triples of the source into the index that a rebuild makes, but for those
-- that were written meanwhile: what their writers say counts. Preceded by
-- declare.lua and entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the rebuild
-- ARGV[5..]   subject, predicate, object of each triple, escaped; at most 100
--
-- Reply    how many triples were taken, or -1: another rebuild is under way

local _, refusal = declared(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
if redis.call('HGET', KEYS[3], 'rebuild') ~= ARGV[4] then
	return -1
end
local ids = {}
for i = 5, #ARGV, 3 do
	ids[#ids + 1] = known(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
local changed = redis.call('SMISMEMBER', KEYS[6], unpack(ids))
local scored, taken = {}, 0
for n = 1, #ids do
	if changed[n] == 0 then
		local i = 2 + 3 * n
		append(scored, {ids[n]})
		append(scored, others(ARGV[i], ARGV[i + 1], ARGV[i + 2]))
		taken = taken + 1
	end
end
if taken > 0 then
	redis.call('ZADD', KEYS[4], unpack(scored))
end
return taken
