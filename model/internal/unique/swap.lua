-- Changes what a hash says of a unique value, if it still says the same.
--
-- KEYS 1 hash of the unique index
-- ARGV 1 value, 2 what the hash says, 3 what it will say, or nothing
-- Reply 1 if it was changed

local value, expected, text = unpack(ARGV)
if redis.call('HGET', KEYS[1], value) ~= expected then
	return 0
end
if text == '' then
	redis.call('HDEL', KEYS[1], value)
else
	redis.call('HSET', KEYS[1], value, text)
end
return 1
