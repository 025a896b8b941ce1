-- Marks documents as removed in the generation that a rebuild builds, unless they exist there.
-- Preceded by declare.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the records of a range in the next generation
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the name of the rebuild
-- ARGV[5]…     fields
--
-- Reply        0

local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
for i = 5, #ARGV do
	redis.call('HSETNX', KEYS[7], ARGV[i], '-')
end
return 0
