-- Reads and writes the values of a scored index: the scores of ids in the sorted set. Precedes the
-- scripts of scored indexes; lexical.lua precedes the scripts of lexicographic indexes.

-- values returns the value of each id, or false.
local function values(index, content, ids)
	return redis.call('ZMSCORE', index, unpack(ids))
end

-- write sets the value of each id, and removes ids whose value is '', false or nil. It returns
-- the number of new ids and of removed ids.
local function write(index, content, ids, new)
	local scores, removed, n = {}, {}, 0
	for i = 1, #ids do
		local id, score = ids[i], new[i]
		if score and score ~= '' then
			scores[n + 1], scores[n + 2] = score, id
			n = n + 2
		else
			removed[#removed + 1] = id
		end
	end
	return n > 0 and redis.call('ZADD', index, unpack(scores)) or 0,
		#removed > 0 and redis.call('ZREM', index, unpack(removed)) or 0
end
