-- Says that a Repair or a Rebuild goes on.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of this run
-- ARGV[5]     after how many milliseconds it has ended, unless it is heard of
--
-- Reply  0
local found = redis.call('HMGET', KEYS[3], 'rebuild', 'until')
if (found[1] == ARGV[4] or found[1] == ARGV[4] .. ' finishing') and not lapsed(found[2]) then
	redis.call('HSET', KEYS[3], 'until', string.format('%.0f', clock() + ARGV[5]))
end
return 0
