-- Removes entries from a lexicographic index.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     empty: remove the entries of the ids; else each id is followed by a
--             member, and is removed only if it has that one
-- ARGV[5..]   id, id, ... or id, member, id, member, ...
--
-- Reply  number of entries removed
local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end

local exact = ARGV[4] ~= ''
local ids = {}
for i = 5, #ARGV, exact and 2 or 1 do
	ids[#ids + 1] = ARGV[i]
end
local found = redis.call('HMGET', KEYS[2], unpack(ids))
local gone, members = {}, {}
for i, id in ipairs(ids) do
	if found[i] and (not exact or found[i] == ARGV[2 * i + 4]) then
		gone[#gone + 1] = id
		members[#members + 1] = found[i]
	end
end
if rebuilding then
	-- Also ids without an entry: the source of a rebuild may have them.
	local changed = exact and gone or ids
	if #changed > 0 then
		redis.call('SADD', KEYS[6], unpack(changed))
	end
end
if #gone == 0 then
	return 0
end
redis.call('ZREM', KEYS[1], unpack(members))
return redis.call('HDEL', KEYS[2], unpack(gone))
