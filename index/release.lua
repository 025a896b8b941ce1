-- Ends a Repair: writers need not note any more what they change.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of this run
--
-- Reply  0
if redis.call('HGET', KEYS[3], 'rebuild') == ARGV[4] then
	redis.call('HDEL', KEYS[3], 'rebuild')
	redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
end
return 0
