-- Raises the counter of ids to an id.
--
-- KEYS 1 counter
-- ARGV 1 id, a decimal number
-- Reply 1 if it was lower

local now = redis.call('GET', KEYS[1]) or '0'
-- Lua is not exact beyond 53 bits.
if #now < #ARGV[1] or #now == #ARGV[1] and now < ARGV[1] then
	redis.call('SET', KEYS[1], ARGV[1])
	return 1
end
return 0
