-- Takes items out of a ring, also where they are handed out.
--
-- KEYS[1]  list: the ring
-- KEYS[2]  hash: every item, with the name of its lease or nothing
-- KEYS[3]  sorted set: items that are handed out, by when their lease ends
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
