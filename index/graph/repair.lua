-- Repairs incomplete triples and removes orphaned entries. Preceded by declare.lua and
-- entries.lua.
--
-- It compares each triple again and skips triples that a writer has put or removed meanwhile. A
-- triple with at least half of its entries is completed; other triples are removed. Changes are
-- not recorded for a concurrent rebuild, whose source wins.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the number of triples, at most 100
-- ARGV[5..]   subject, predicate, object of each triple, escaped
-- then        entries to remove, at most 500
--
-- Reply    the number of triples and entries repaired or removed

local _, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local repaired = 0
local last = 4 + 3 * tonumber(ARGV[4])
for i = 5, last, 3 do
	local s, p, o = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	local entries = secondary(s, p, o)
	entries[#entries + 1] = primary(s, p, o)
	local present, correct = 0, 0
	for _, score in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(entries))) do
		if score then
			present = present + 1
			if tonumber(score) == 0 then
				correct = correct + 1
			end
		end
	end
	if present > 0 and correct < #entries then
		if present * 2 >= #entries then
			local scored = {}
			append(scored, entries)
			redis.call('ZADD', KEYS[1], unpack(scored))
		else
			redis.call('ZREM', KEYS[1], unpack(entries))
		end
		repaired = repaired + 1
	end
end
if #ARGV > last then
	repaired = repaired + redis.call('ZREM', KEYS[1], unpack(ARGV, last + 1))
end
return repaired
