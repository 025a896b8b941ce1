-- Applies concurrent writes to the new graph of a Rebuild: a hundred triples per call, or fewer if
-- names are long. Preceded by declare.lua, finish.lua of package maintain and entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
--
-- Reply    1 if the new graph is in place, 0: call again

local refusal = finishing(ARGV[4])
if refusal then
	return refusal
end

-- nameEnd returns the position after the escaped name that starts at a position.
local function nameEnd(entry, from)
	while true do
		local at = string.find(entry, '[:;]', from)
		if not at or string.sub(entry, at, at) == ':' then
			return at
		end
		from = at + 2
	end
end

local put, removed = {}, {}
for _, id in ipairs(changes(100, 65536)) do
	local first = nameEnd(id, 5)
	local second = nameEnd(id, first + 1)
	local entries = secondary(string.sub(id, 5, first - 1), string.sub(id, first + 1, second - 1), string.sub(id, second + 1))
	entries[#entries + 1] = id
	local present = 0
	for _, score in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(entries))) do
		present = present + (score and 1 or 0)
	end
	if present * 2 >= #entries then -- as in repair.lua
		append(put, entries)
	else
		for _, entry in ipairs(entries) do
			removed[#removed + 1] = entry
		end
	end
end
if #put > 0 then
	redis.call('ZADD', KEYS[4], unpack(put))
end
if #removed > 0 then
	redis.call('ZREM', KEYS[4], unpack(removed))
end
return finished({KEYS[1], KEYS[4]})
