-- Builds the reverse index of a sorted set that becomes a lexicographic index. It does not
-- change existing entries.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   id, member, ...: entries whose ids have no other entry
--
-- Reply  number of these entries that are now in the reverse index
local _, refusal = readDeclaration(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local indexed = 0
for i = 4, #ARGV, 2 do
	local id, member = ARGV[i], ARGV[i + 1]
	if redis.call('ZSCORE', KEYS[1], member) then
		redis.call('HSETNX', KEYS[2], id, member)
	end
	if redis.call('HGET', KEYS[2], id) == member then
		indexed = indexed + 1
	end
end
return indexed
