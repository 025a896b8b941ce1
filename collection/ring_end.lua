-- Ends or extends the lease of an item.
--
-- KEYS     see ring.lua
-- ARGV[1]  the item
-- ARGV[2]  the lease ID
-- ARGV[3]  'return': end the lease and put the item at the end of the ring; 'remove': end
--          the lease and remove the item from the ring; a number: let the lease end that
--          many milliseconds from now
--
-- Reply  1, or 0 if the lease is over, even if no other worker has the item yet
checkKinds()
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2]
	or tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1) <= ringTime() then
	return 0
end
if ARGV[3] == 'return' then
	release(ARGV[1])
elseif ARGV[3] == 'remove' then
	redis.call('HDEL', KEYS[2], ARGV[1])
	redis.call('ZREM', KEYS[1], ARGV[1])
else
	lease(ARGV[1], ARGV[2], ARGV[3])
end
return 1
