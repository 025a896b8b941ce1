-- Adds items to a ring, without those that it has.
--
-- KEYS[1]     list: the ring, the next one first
-- KEYS[2]     hash: every item, with the name of its lease or nothing
-- KEYS[3]     hash: the declaration
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   items
--
-- Reply  how many it added
local found, refusal = remembered(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if not found[1] then
	refusal = unowned(KEYS[1], 'list') or unowned(KEYS[2], 'hash')
end
if refusal then
	return refusal
end
declared(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
local added = 0
for i = 4, #ARGV do
	if redis.call('HSETNX', KEYS[2], ARGV[i], '') == 1 then
		redis.call('RPUSH', KEYS[1], ARGV[i])
		added = added + 1
	end
end
return added
