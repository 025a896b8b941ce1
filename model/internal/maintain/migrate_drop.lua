-- Deletes sets of values of an index that is no longer declared.
--
-- KEYS 1 meta, 2 directory of the values, then the set of each value
-- ARGV 1 digest of the declaration that must be in force, then the values
-- Reply 1, or 0 if another declaration is in force

-- If the server's memory is full, Drop removes the digest instead of replacing it.
if (redis.call('HGET', KEYS[1], 'digest') or 'dropping') ~= ARGV[1] then
	return 0
end
for i = 3, #KEYS do
	redis.call('UNLINK', KEYS[i])
	redis.call('ZREM', KEYS[2], ARGV[i - 1])
end
return 1
