-- Ends a Repair or Rebuild if it is the run in progress: writers stop recording changed ids, and
-- new data that has not replaced the old data is removed.
--
-- KEYS[1..6]  the keys of a partition: index, content, meta, next, next content, changed
-- KEYS[7..]   other keys that a rebuild makes
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
--
-- Reply  0
local run = redis.call('HGET', KEYS[3], 'rebuild')
if run == ARGV[4] or run == ARGV[4] .. ' finishing' then
	redis.call('HDEL', KEYS[3], 'rebuild', 'until')
	redis.call('UNLINK', unpack(KEYS, 4))
end
return 0
