-- Removes entries from a numeric index.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   id, id, ...
--
-- Reply  number of entries removed
local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local ids = {unpack(ARGV, 4)}
if rebuilding then
	redis.call('SADD', KEYS[6], unpack(ids))
end
return redis.call('ZREM', KEYS[1], unpack(ids))
