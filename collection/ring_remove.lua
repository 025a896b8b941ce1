-- Removes items from a ring, leased or not.
--
-- KEYS   see ring.lua
-- ARGV   items
--
-- Reply  the number of removed items
checkKinds()
local removed = 0
for _, item in ipairs(ARGV) do
	if redis.call('ZREM', KEYS[1], item) == 1 then
		removed = removed + 1
		redis.call('HDEL', KEYS[2], item)
	end
end
return removed
