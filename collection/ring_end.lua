-- Ends or extends the lease of an item.
--
-- KEYS[1]  list: the ring
-- KEYS[2]  hash: every item, with the name of its lease or nothing
-- KEYS[3]  sorted set: leased items, scored by the end of their lease in
--          milliseconds
-- ARGV[1]  the item
-- ARGV[2]  the name of the lease
-- ARGV[3]  'return': end it and put the item at the end of the ring; 'remove': end it
--          and take the item out of the ring; else extend it to so many milliseconds
--          from now
--
-- Reply  1, or 0 if the lease is over, whether or not another worker has the item
if ARGV[2] == '' or redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then
	return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(redis.call('ZSCORE', KEYS[3], ARGV[1]) or 0) <= now then
	return 0
end
if ARGV[3] == 'return' then
	redis.call('ZREM', KEYS[3], ARGV[1])
	redis.call('HSET', KEYS[2], ARGV[1], '')
	redis.call('RPUSH', KEYS[1], ARGV[1])
elseif ARGV[3] == 'remove' then
	redis.call('ZREM', KEYS[3], ARGV[1])
	redis.call('HDEL', KEYS[2], ARGV[1])
else
	-- One more: the current millisecond may be nearly over.
	redis.call('ZADD', KEYS[3], now + 1 + ARGV[3], ARGV[1])
end
return 1
