-- Raises the counter of ids to an id.
--
-- KEYS 1 counter
-- ARGV 1 id, a decimal number
-- Reply 1 if the counter was lower, otherwise 0

local current = redis.call('GET', KEYS[1]) or '0'
-- Compare as text, since Lua numbers are exact only up to 53 bits.
if #current < #ARGV[1] or #current == #ARGV[1] and current < ARGV[1] then
	redis.call('SET', KEYS[1], ARGV[1])
	return 1
end
return 0
