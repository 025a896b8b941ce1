-- Puts entries. An existing entry of an id is moved.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   id, value, id, value, ...; each id once
--
-- Reply  number of new ids
local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local ids, new, n = {}, {}, 0
for i = 4, #ARGV, 2 do
	n = n + 1
	ids[n], new[n] = ARGV[i], ARGV[i + 1]
end
if rebuilding then
	redis.call('SADD', KEYS[6], unpack(ids))
end
local added = write(KEYS[1], KEYS[2], ids, new)
return added
