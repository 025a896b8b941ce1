-- Claims a unique value for a record in another partition, if the hash field is unchanged.
--
-- KEYS 1 hash of the unique index
-- ARGV 1 value, 2 expected hash field, or empty if there must be none, 3 id, 4 token of the
--      claim, 5 lease of the claim in milliseconds
-- Reply the resulting hash field, and 1 if it is the new claim, otherwise 0

local value, expected, id, token, lease = unpack(ARGV)
local found = redis.call('HGET', KEYS[1], value) or ''
if found ~= expected then
	return { found, 0 }
end
local claim = string.format('%s\0%s\0%.0f', id, token, now() + lease)
redis.call('HSET', KEYS[1], value, claim)
return { claim, 1 }
