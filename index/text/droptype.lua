-- Removes a key of the wrong type.
--
-- KEYS[1]  a key
-- ARGV[1]  the type that it should have
--
-- Reply    1, or 0 if it has that type or does not exist

local type = redis.call('TYPE', KEYS[1]).ok
if type == ARGV[1] or type == 'none' then
	return 0
end
return redis.call('UNLINK', KEYS[1])
