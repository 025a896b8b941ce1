-- Removes the entries of ids.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   id, id, ...; each id once
--
-- Reply  number of entries removed
local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local ids = {unpack(ARGV, 4)}
if rebuilding then -- even ids without an entry: the source of the rebuild may contain them
	redis.call('SADD', KEYS[6], unpack(ids))
end
local _, removed = write(KEYS[1], KEYS[2], ids, {})
return removed
