-- Raises a fencing counter to a token, if the counter is smaller.
--
-- KEYS[1]  string: the last fencing token of the name
-- ARGV[1]  the token
--
-- Reply    1

local last = redis.call('GET', KEYS[1])
if last and not tonumber(last) then
	error('WRONGTYPE the counter of fencing tokens is not a number')
end
if not last or tonumber(last) < tonumber(ARGV[1]) then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', 86400000)
end
return 1
