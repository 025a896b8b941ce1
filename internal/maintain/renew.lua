-- Renews the lease of a Repair or Rebuild.
--
-- KEYS[1..6]  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5]     its lease in milliseconds
--
-- Reply  0
local found = redis.call('HMGET', KEYS[3], 'rebuild', 'until')
if (found[1] == ARGV[4] or found[1] == ARGV[4] .. ' finishing') and not lapsed(found[2]) then
	redis.call('HSET', KEYS[3], 'until', string.format('%.0f', clock() + ARGV[5]))
end
return 0
