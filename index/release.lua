-- Ends a Repair or a Rebuild: writers need not note any more what they change, and
-- what it made and did not put in place goes.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of this run
--
-- Reply  0
local run = redis.call('HGET', KEYS[3], 'rebuild')
if run == ARGV[4] or run == ARGV[4] .. ' finishing' then
	redis.call('HDEL', KEYS[3], 'rebuild', 'until')
	redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
end
return 0
