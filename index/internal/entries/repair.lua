-- Makes entries of a lexicographic index agree with the reverse index, which wins. Each entry
-- is compared again.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   action, id, member, ...:
--             restore  add the member, if the reverse index still has it for the id
--             forget   remove the id from the reverse index, if that still has this member
--             drop     remove the member, unless the reverse index now has it for the id
--             keep     add the member to the reverse index, unless that now has the id
--
-- Reply  number of repaired entries
local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end

local repaired = 0
for i = 4, #ARGV, 3 do
	local what, id, member = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	local is = redis.call('HGET', KEYS[2], id) == member
	if what == 'restore' and is then
		repaired = repaired + redis.call('ZADD', KEYS[1], 'CH', 0, member)
	elseif what == 'forget' and is then
		redis.call('HDEL', KEYS[2], id)
		repaired = repaired + 1
		if rebuilding then
			redis.call('SADD', KEYS[6], id)
		end
	elseif what == 'drop' and not is then
		repaired = repaired + redis.call('ZREM', KEYS[1], member)
	elseif what == 'keep' and redis.call('ZSCORE', KEYS[1], member) then
		repaired = repaired + redis.call('HSETNX', KEYS[2], id, member)
	end
end
return repaired
