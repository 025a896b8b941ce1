-- Mends entries of a lexicographic index that do not agree with what is beside
-- them, which is the truth. Each is looked at again.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   what to do, id, member, ...:
--             restore  add the member if it still is the one of the id
--             forget   what is beside the index for the id, if it still is this member
--             drop     the member, if it still is not the one of the id
--             keep     the member as the one of the id, if it still has none
--
-- Reply  how many were mended
local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end

local mended = 0
for i = 4, #ARGV, 3 do
	local what, id, member = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	local is = redis.call('HGET', KEYS[2], id) == member
	if what == 'restore' and is then
		redis.call('ZADD', KEYS[1], 0, member)
		mended = mended + 1
	elseif what == 'forget' and is then
		redis.call('HDEL', KEYS[2], id)
		mended = mended + 1
		if rebuilding then
			redis.call('SADD', KEYS[6], id)
		end
	elseif what == 'drop' and not is then
		mended = mended + redis.call('ZREM', KEYS[1], member)
	elseif what == 'keep' and redis.call('ZSCORE', KEYS[1], member) then
		mended = mended + redis.call('HSETNX', KEYS[2], id, member)
	end
end
return mended
