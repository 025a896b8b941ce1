-- Leases one item of a ring, wherever it is.
--
-- KEYS[1]  list: the ring
-- KEYS[2]  hash: every item, with the name of its lease or nothing
-- KEYS[3]  sorted set: leased items, scored by the end of their lease in
--          milliseconds
-- ARGV[1]  the name of the lease
-- ARGV[2]  how long it lasts, milliseconds
-- ARGV[3]  the item
--
-- Reply  0: it is leased now; -1: the ring does not have it; else the milliseconds
--        until the lease of another worker ends
local held = redis.call('HGET', KEYS[2], ARGV[3])
if not held then
	return -1
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if held ~= '' then
	local ends = tonumber(redis.call('ZSCORE', KEYS[3], ARGV[3]) or 0)
	if ends > now then
		return ends - now
	end
else
	redis.call('LREM', KEYS[1], 1, ARGV[3])
end
redis.call('HSET', KEYS[2], ARGV[3], ARGV[1])
-- One more: the current millisecond may be nearly over.
redis.call('ZADD', KEYS[3], now + 1 + ARGV[2], ARGV[3])
return 0
