-- Ends or extends the lease of an item.
--
-- KEYS     see ring.lua
-- ARGV[1]  the item
-- ARGV[2]  the id of the lease
-- ARGV[3]  'return': end it and put the item at the end of the ring; 'remove': end it
--          and take the item out of the ring; else extend it to so many milliseconds
--          from now
--
-- Reply  1, or 0 if the lease is over, whether or not another worker has the item
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
