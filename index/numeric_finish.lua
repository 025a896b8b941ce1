-- Catches up with what writers changed during a Rebuild, a hundred ids at a time,
-- and in the step that has caught up puts the new index in the place of the old.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of this run
--
-- Reply  1 when the new index is in place, 0: call again
local finishing = ARGV[4] .. ' finishing'
local refusal = replaced(KEYS[3], ARGV[4]) and replaced(KEYS[3], finishing)
if refusal then
	return refusal
end
-- From here on nothing may be filled in that is older than what is moved now.
redis.call('HSET', KEYS[3], 'rebuild', finishing)
local ids = redis.call('SPOP', KEYS[6], 100)
if #ids > 0 then
	local now = redis.call('ZMSCORE', KEYS[1], unpack(ids))
	for i, id in ipairs(ids) do
		if now[i] then
			redis.call('ZADD', KEYS[4], now[i], id)
		else
			redis.call('ZREM', KEYS[4], id)
		end
	end
end
if redis.call('EXISTS', KEYS[6]) == 1 then
	return 0
end
-- Unlinked first: to rename over a large key would free it at once.
redis.call('UNLINK', KEYS[1])
if redis.call('EXISTS', KEYS[4]) == 1 then
	redis.call('RENAME', KEYS[4], KEYS[1])
end
redis.call('HDEL', KEYS[3], 'rebuild', 'until')
return 1
