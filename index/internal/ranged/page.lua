-- Reads entries of a numeric index by rank, so that an offset or a cursor costs O(log n).
-- Preceded by less.lua.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1], ARGV[2]  the range, as ZRANGEBYSCORE takes it
-- ARGV[3]           '1': from the end of the range
-- ARGV[4]           number of entries to skip
-- ARGV[5]           maximum number of entries to reply
-- ARGV[6], ARGV[7]  score and id of the entry to continue after; both empty: none
--
-- Reply  id, score, id, score, ...
local low, high, reverse = ARGV[1], ARGV[2], ARGV[3] == '1'

-- ranks returns the rank of an entry and of its successor. If the entry no longer exists, both
-- are the rank that it would have.
local function ranks(score, id)
	local now = redis.call('ZSCORE', KEYS[1], id)
	if now and tonumber(now) == tonumber(score) then
		local rank = redis.call('ZRANK', KEYS[1], id)
		return rank, rank + 1
	end
	local from = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. score)
	local to = redis.call('ZCOUNT', KEYS[1], '-inf', score)
	while from < to do
		local middle = math.floor((from + to) / 2)
		if less(redis.call('ZRANGE', KEYS[1], middle, middle)[1], id) then
			from = middle + 1
		else
			to = middle
		end
	end
	return from, from
end

-- The entries of the range have the ranks from first to last.
local below = '(' .. low
if low:sub(1, 1) == '(' then
	below = low:sub(2)
end
local first = low == '-inf' and 0 or redis.call('ZCOUNT', KEYS[1], '-inf', below)
local last = redis.call('ZCOUNT', KEYS[1], '-inf', high) - 1
if ARGV[7] ~= '' then
	local before, after = ranks(ARGV[6], ARGV[7])
	if reverse then
		last = math.min(last, before - 1)
	else
		first = math.max(first, after)
	end
end
local offset, count = tonumber(ARGV[4]), tonumber(ARGV[5])
if reverse then
	last = last - offset
	first = math.max(first, last - count + 1)
else
	first = first + offset
	last = math.min(last, first + count - 1)
end
if first > last then
	return {}
end
if reverse then
	local all = redis.call('ZCARD', KEYS[1])
	return redis.call('ZREVRANGE', KEYS[1], all - 1 - last, all - 1 - first, 'WITHSCORES')
end
return redis.call('ZRANGE', KEYS[1], first, last, 'WITHSCORES')
