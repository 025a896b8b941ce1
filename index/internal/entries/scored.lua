-- What ids have in a scored index: their score in the sorted set. Begins the scripts of such
-- an index, as lexical.lua does those of a lexicographic one.

-- values returns what each id has, or false.
local function values(index, content, ids)
	return redis.call('ZMSCORE', index, unpack(ids))
end

-- write gives each id its value, and removes the ids whose value is '', false or nil. It
-- returns how many ids are new, and how many were removed.
local function write(index, content, ids, new)
	local scores, removed = {}, {}
	for i, id in ipairs(ids) do
		if new[i] and new[i] ~= '' then
			scores[#scores + 1] = new[i]
			scores[#scores + 1] = id
		else
			removed[#removed + 1] = id
		end
	end
	return #scores > 0 and redis.call('ZADD', index, unpack(scores)) or 0,
		#removed > 0 and redis.call('ZREM', index, unpack(removed)) or 0
end
