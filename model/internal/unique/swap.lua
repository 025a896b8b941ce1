-- Changes the hash field of a unique value, if it has the expected value.
--
-- KEYS 1 hash of the unique index
-- ARGV 1 value, 2 expected hash field, 3 new hash field, or empty to remove it
-- Reply 1 if the hash field was changed, otherwise 0

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
