-- Puts entries into a lexicographic index. An id that has an entry moves.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4..]   id, member, id, member, ...; no id twice
--
-- Reply  number of new ids
local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end

local ids = {}
for i = 4, #ARGV, 2 do
	ids[#ids + 1] = ARGV[i]
end
local old = redis.call('HMGET', KEYS[2], unpack(ids))

-- The member is added even if it should be there already, so that putting an entry
-- again restores one that was lost.
local members, contents, gone, new = {}, {}, {}, 0
for i, id in ipairs(ids) do
	local member = ARGV[2 * i + 3]
	members[2 * i - 1] = '0' -- a number would be converted to text each time
	members[2 * i] = member
	if old[i] ~= member then
		contents[#contents + 1] = id
		contents[#contents + 1] = member
		if old[i] then
			gone[#gone + 1] = old[i]
		else
			new = new + 1
		end
	end
end
if #gone > 0 then
	redis.call('ZREM', KEYS[1], unpack(gone))
end
redis.call('ZADD', KEYS[1], unpack(members))
if #contents > 0 then
	redis.call('HSET', KEYS[2], unpack(contents))
end
if rebuilding then
	redis.call('SADD', KEYS[6], unpack(ids))
end
return new
