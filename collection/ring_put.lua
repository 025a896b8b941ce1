-- Adds items to a ring, except items that the ring already has.
--
-- KEYS[1..2]  see ring.lua
-- KEYS[3]     hash: the declaration
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   items
--
-- Reply  the number of added items
local _, refusal = checkDeclaration(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
checkKinds()
storeDeclaration(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
local place, added = lastPlace(), 0
for i = 4, #ARGV do
	if redis.call('ZADD', KEYS[1], 'NX', place, ARGV[i]) == 1 then
		place = place + 1
		added = added + 1
	end
end
return added
