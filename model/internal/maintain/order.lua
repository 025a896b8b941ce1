-- Reads ids in creation order.
--
-- KEYS 1 all
-- ARGV 1 score of the last id read, or empty to start, 2 that id, 3 number of ids
-- Reply alternating ids and scores

local score, id, count = unpack(ARGV)
local from = 0
if score ~= '' then
	local rank = redis.call('ZRANK', KEYS[1], id)
	if rank and redis.call('ZSCORE', KEYS[1], id) == score then
		from = rank + 1
	else
		from = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
	end
end
return redis.call('ZRANGE', KEYS[1], from, from + count - 1, 'WITHSCORES')
