-- Starts a Repair or Rebuild: from now on writers record the ids they change. A run in progress
-- is replaced, unless ARGV[6] forbids that.
--
-- KEYS[1..6]  the keys of a partition: index, content, meta, next, next content, changed
-- KEYS[7..]   other keys that a rebuild makes
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5]     its lease in milliseconds
-- ARGV[6]     'idle': start only if no run is in progress; else absent
--
-- Reply  0, or 1 if another run is in progress
local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3], KEYS[7])
if refusal then
	return refusal
end
if rebuilding and ARGV[6] == 'idle' then
	return 1
end
redis.call('HSET', KEYS[3], 'rebuild', ARGV[4], 'until', string.format('%.0f', clock() + ARGV[5]))
redis.call('UNLINK', unpack(KEYS, 4))
return 0
