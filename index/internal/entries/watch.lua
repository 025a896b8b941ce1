-- Reads the values of ids, and clears the records of concurrent writes to these ids, so that
-- replace.lua detects later writes.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5..]   id, id, ...
--
-- Reply  the value of each id, or false
local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local ids = {unpack(ARGV, 5)}
redis.call('SREM', KEYS[6], unpack(ids))
return values(KEYS[1], KEYS[2], ids)
