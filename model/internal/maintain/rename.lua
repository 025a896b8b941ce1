-- Gives fields of a record their names of now. Its index entries stay: they are the same.
--
-- KEYS 1 record
-- ARGV pairs of the former name of a field and its name
-- Reply OK

for i = 1, #ARGV, 2 do
	local value = redis.call('HGET', KEYS[1], ARGV[i])
	if value and redis.call('HSETNX', KEYS[1], ARGV[i + 1], value) == 1 then
		redis.call('HDEL', KEYS[1], ARGV[i])
	end
end
return 'OK'
