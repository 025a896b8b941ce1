-- Returns the leases of items of a ring.
--
-- KEYS   see ring.lua
-- ARGV   items; none: all items whose lease is not over
--
-- Reply  for each leased item: the item, its lease ID, and the millisecond in which the
--        lease ends by the clock of the server
checkKinds()
local now, ahead = ringTime()
local items, reply = ARGV, {}
if #ARGV == 0 then
	items = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf')
end
for _, item in ipairs(items) do
	local ends = tonumber(redis.call('ZSCORE', KEYS[1], item) or -1)
	if ends >= 0 then
		reply[#reply + 1] = item
		reply[#reply + 1] = redis.call('HGET', KEYS[2], item) or ''
		reply[#reply + 1] = string.format('%.0f', ends - ahead)
	end
end
return reply
