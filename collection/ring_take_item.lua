-- Leases one item of a ring, wherever it is.
--
-- KEYS     see ring.lua
-- ARGV[1]  the lease ID
-- ARGV[2]  the duration of the lease, milliseconds
-- ARGV[3]  the item
--
-- Reply  0: the item is leased now; -1: the ring does not have the item; otherwise the
--        milliseconds until the lease of another worker ends
checkKinds()
local score = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[3]) or '')
if not score then
	return -1
end
local now = ringTime()
if score > now then
	return score - now
end
lease(ARGV[3], ARGV[1], ARGV[2])
return 0
