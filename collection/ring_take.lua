-- Leases the next item of a ring. Items whose lease has ended return to the ring first.
--
-- KEYS     see ring.lua
-- ARGV[1]  the lease ID
-- ARGV[2]  the duration of the lease, milliseconds
--
-- Reply  the item, or false and the milliseconds until the first lease ends;
--        -1: no item is leased
checkKinds()
local now = ringTime()
for _, item in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], 0, now, 'LIMIT', 0, 100)) do
	release(item)
end
local item = first()
if item then
	lease(item, ARGV[1], ARGV[2])
	return {item}
end
local leased = redis.call('ZRANGEBYSCORE', KEYS[1], 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return {false, leased[2] and math.max(0, leased[2] - now) or -1}
