-- Adds items to a capped list.
--
-- KEYS[1]     list: the items, newest first
-- KEYS[2]     hash: the declaration
-- ARGV[1..3]  kind, declaration (the maximum number of items), partitions
-- ARGV[4..]   items, the newest last
--
-- Reply  the number of items now in the list
local found, refusal = readDeclaration(KEYS[2], ARGV[1], ARGV[2], ARGV[3])
if not found[1] then
	refusal = unowned(KEYS[1], 'list')
end
if refusal then
	return refusal
end
storeDeclaration(KEYS[2], ARGV[1], ARGV[2], ARGV[3])
redis.call('LPUSH', KEYS[1], unpack(ARGV, 4))
redis.call('LTRIM', KEYS[1], 0, tonumber(ARGV[2]) - 1)
return redis.call('LLEN', KEYS[1])
