-- Reads the expired records that are still in the indexes.
--
-- KEYS 1 content, 2 expires, 3 meta
-- ARGV 1 stamp of the declaration, 2 maximum number of records
-- Reply SCHEMA, or the ids and the contents of the records

if not writable(KEYS[3], ARGV[1]) then
	return 'SCHEMA'
end
local ids = call('ZRANGEBYSCORE', KEYS[2], '-inf', now(), 'LIMIT', 0, ARGV[2])
return { ids, #ids > 0 and call('HMGET', KEYS[1], unpack(ids)) or {} }
