-- Puts entries into a numeric index.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   id, score, id, score, ...
--
-- Reply  number of new ids
local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local pairs, ids = {}, {}
for i = 4, #ARGV, 2 do
	pairs[i - 3] = ARGV[i + 1]
	pairs[i - 2] = ARGV[i]
	ids[#ids + 1] = ARGV[i]
end
if rebuilding then
	redis.call('SADD', KEYS[6], unpack(ids))
end
return redis.call('ZADD', KEYS[1], unpack(pairs))
