-- Removes items from a ring, leased or not.
--
-- KEYS[1]  list: the ring
-- KEYS[2]  hash: every item, with the name of its lease or nothing
-- KEYS[3]  sorted set: leased items, scored by the end of their lease
-- ARGV     items
--
-- Reply  how many were removed
local removed = 0
for _, item in ipairs(ARGV) do
	if redis.call('HDEL', KEYS[2], item) == 1 then
		removed = removed + 1
		if redis.call('ZREM', KEYS[3], item) == 0 then
			redis.call('LREM', KEYS[1], 1, item)
		end
	end
end
return removed
