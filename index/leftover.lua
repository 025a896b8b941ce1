-- Looks for what a Repair or a Rebuild has left that was killed.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     '1': it goes
--
-- Reply  {how many entries it has made, how many ids were noted}, or {} where there
--        is nothing of that kind
local found = redis.call('HMGET', KEYS[3], 'rebuild', 'until')
if not found[1] or found[2] and not lapsed(found[2]) then
	return {} -- there is none, or it is under way
end
local reply = {redis.call('ZCARD', KEYS[4]), redis.call('SCARD', KEYS[6])}
if ARGV[4] == '1' then
	redis.call('HDEL', KEYS[3], 'rebuild', 'until')
	redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
end
return reply
