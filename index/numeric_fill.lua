-- Puts entries into the numeric index that a Rebuild makes, but for those that a
-- writer has changed since it began.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of this run
-- ARGV[5..]   id, score, id, score, ...
--
-- Reply  how many were put
if redis.call('HGET', KEYS[3], 'rebuild') ~= ARGV[4] then
	return redis.error_reply('REPLACED by another run')
end
local ids, pairs = {}, {}
for i = 5, #ARGV, 2 do
	ids[#ids + 1] = ARGV[i]
end
local changed = redis.call('SMISMEMBER', KEYS[6], unpack(ids))
for i, id in ipairs(ids) do
	if changed[i] == 0 then
		pairs[#pairs + 1] = ARGV[2 * i + 4]
		pairs[#pairs + 1] = id
	end
end
if #pairs > 0 then
	redis.call('ZADD', KEYS[4], unpack(pairs))
end
return #pairs / 2
