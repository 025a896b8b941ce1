-- Makes entries of a lexicographic index agree with the reverse index, which wins. Each entry
-- is compared again.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   action, id, member, ...:
--             restore  add the member, if the reverse index still maps the id to it
--             forget   remove the id from the reverse index, if it still maps to the member
--             drop     remove the member, unless the reverse index now maps the id to it
--             keep     add the id to the reverse index, if it is missing and the member exists
--
-- Reply  number of repaired entries
local rebuilding, refusal = openPartition(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end

local repaired = 0
for i = 4, #ARGV, 3 do
	local action, id, member = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	local mapped = redis.call('HGET', KEYS[2], id) == member
	if action == 'restore' and mapped then
		repaired = repaired + redis.call('ZADD', KEYS[1], 'CH', 0, member)
	elseif action == 'forget' and mapped then
		redis.call('HDEL', KEYS[2], id)
		repaired = repaired + 1
		if rebuilding then
			redis.call('SADD', KEYS[6], id)
		end
	elseif action == 'drop' and not mapped then
		repaired = repaired + redis.call('ZREM', KEYS[1], member)
	elseif action == 'keep' and redis.call('ZSCORE', KEYS[1], member) then
		repaired = repaired + redis.call('HSETNX', KEYS[2], id, member)
	end
end
return repaired
