-- Puts entries into the index that a Rebuild makes. What writers changed since it began
-- is for finish.lua.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5..]   id, member, id, member, ...; no id twice
--
-- Reply  0
local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local ids = {}
for i = 5, #ARGV, 2 do
	ids[#ids + 1] = ARGV[i]
end
local old = redis.call('HMGET', KEYS[5], unpack(ids))
local members, contents, gone = {}, {}, {}
for i, id in ipairs(ids) do
	local member = ARGV[2 * i + 4]
	if old[i] ~= member then
		members[#members + 1] = 0
		members[#members + 1] = member
		contents[#contents + 1] = id
		contents[#contents + 1] = member
		if old[i] then
			gone[#gone + 1] = old[i]
		end
	end
end
if #gone > 0 then
	redis.call('ZREM', KEYS[4], unpack(gone))
end
if #members > 0 then
	redis.call('ZADD', KEYS[4], unpack(members))
	redis.call('HSET', KEYS[5], unpack(contents))
end
return 0
