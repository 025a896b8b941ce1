-- Finds, and on request removes, leftovers of a killed Repair or Rebuild.
--
-- KEYS[1..6]  the keys of a partition: index, content, meta, next, next content, changed
-- KEYS[7..]   other keys that a rebuild makes
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     '1': remove the leftovers
--
-- Reply  {entries that the run built, ids that writers recorded}, or {} if there are no leftovers
local found = redis.call('HMGET', KEYS[3], 'rebuild', 'until')
if not found[1] or found[2] and not lapsed(found[2]) then
	return {} -- there is no run, or it is in progress
end
local reply = {redis.call('ZCARD', KEYS[4]), redis.call('SCARD', KEYS[6])}
if ARGV[4] == '1' then
	redis.call('HDEL', KEYS[3], 'rebuild', 'until')
	redis.call('UNLINK', unpack(KEYS, 4))
end
return reply
