-- Begins or gives up a rebuild. Preceded by declare.lua and entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the rebuild
-- ARGV[5]     '1': begin, whatever another one has left; '0': give up, if it
--             is this one that is under way
--
-- Reply    1, or 0 where another one is under way by now

local _, refusal = declared(KEYS[3], ARGV[1], ARGV[2], ARGV[3], KEYS[1])
if refusal then
	return refusal
end
if ARGV[5] == '1' then
	redis.call('HSET', KEYS[3], 'rebuild', ARGV[4])
elseif redis.call('HGET', KEYS[3], 'rebuild') == ARGV[4] then
	redis.call('HDEL', KEYS[3], 'rebuild')
else
	return 0
end
redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
return 1
