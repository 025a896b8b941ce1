-- Begins a Repair or a Rebuild: from now on writers note which ids they change.
-- One that was under way has ended thereby.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of this run
-- ARGV[5]     after how many milliseconds it has ended, unless it is heard of
--
-- Reply  0
local _, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
redis.call('HSET', KEYS[3], 'rebuild', ARGV[4], 'until', string.format('%.0f', clock() + ARGV[5]))
redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
return 0
