-- Takes over what was written during a rebuild, and puts the new index in the
-- place of the old one when nothing is left. Preceded by declare.lua and
-- entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the rebuild
--
-- Reply    1 done, 0 there is more, -1 another rebuild is under way

local _, refusal = declared(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
if redis.call('HGET', KEYS[3], 'rebuild') ~= ARGV[4] then
	return -1
end

-- cut returns where an escaped name that begins at a place ends.
local function cut(entry, from)
	while true do
		local at = string.find(entry, '[:;]', from)
		if not at or string.sub(entry, at, at) == ':' then
			return at
		end
		from = at + 2
	end
end

-- A hundred, or fewer with long names.
local put, gone = {}, {}
local count, bytes = 0, 0
while count < 100 and bytes < 65536 do
	local id = redis.call('SPOP', KEYS[6])
	if not id then
		break
	end
	count, bytes = count + 1, bytes + #id
	local first = cut(id, 5)
	local second = cut(id, first + 1)
	local entries = others(string.sub(id, 5, first - 1), string.sub(id, first + 1, second - 1), string.sub(id, second + 1))
	entries[#entries + 1] = id
	local there = 0
	for _, score in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(entries))) do
		there = there + (score and 1 or 0)
	end
	if there * 2 >= #entries then -- as mend.lua has it
		append(put, entries)
	else
		for _, entry in ipairs(entries) do
			gone[#gone + 1] = entry
		end
	end
end
if #put > 0 then
	redis.call('ZADD', KEYS[4], unpack(put))
end
if #gone > 0 then
	redis.call('ZREM', KEYS[4], unpack(gone))
end
if redis.call('EXISTS', KEYS[6]) == 1 then
	return 0
end
-- The old index is removed in the background: a large one takes seconds.
if redis.call('EXISTS', KEYS[1]) == 1 then
	redis.call('RENAME', KEYS[1], KEYS[5])
end
if redis.call('EXISTS', KEYS[4]) == 1 then
	redis.call('RENAME', KEYS[4], KEYS[1])
end
redis.call('UNLINK', KEYS[5])
redis.call('HDEL', KEYS[3], 'rebuild')
return 1
