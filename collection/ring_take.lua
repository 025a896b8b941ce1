-- Leases the next item of a ring. Items whose lease has ended return to it first.
--
-- KEYS[1]  list: the ring
-- KEYS[2]  hash: every item, with the name of its lease or nothing
-- KEYS[3]  sorted set: leased items, scored by the end of their lease in
--          milliseconds
-- ARGV[1]  the name of the lease
-- ARGV[2]  how long it lasts, milliseconds
--
-- Reply  the item, or false and the milliseconds until the first lease ends;
--        -1: none is leased
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local back = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 100)
for _, item in ipairs(back) do
	redis.call('RPUSH', KEYS[1], item)
	redis.call('HSET', KEYS[2], item, '')
	redis.call('ZREM', KEYS[3], item)
end
local item = redis.call('LPOP', KEYS[1])
if item then
	redis.call('HSET', KEYS[2], item, ARGV[1])
	-- One more: the current millisecond may be nearly over.
	redis.call('ZADD', KEYS[3], now + 1 + ARGV[2], item)
	return {item}
end
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
return {false, first[2] and math.max(0, first[2] - now) or -1}
