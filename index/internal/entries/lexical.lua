-- Reads and writes the values of a lexicographic index: members of the sorted set, to which the
-- reverse index maps ids. Precedes the scripts of lexicographic indexes; scored.lua precedes the
-- scripts of scored indexes.

-- values returns the value of each id, or false.
local function values(index, content, ids)
	return redis.call('HMGET', content, unpack(ids))
end

-- write sets the value of each id, and removes ids whose value is '', false or nil. It returns
-- the number of new ids and of removed ids.
--
-- A member is added even if it should exist already, so that putting an entry again restores a
-- lost member.
local function write(index, content, ids, new)
	local old = values(index, content, ids)
	local members, contents, obsolete, removed, added, n = {}, {}, {}, {}, 0, 0
	for i = 1, #ids do
		local id, member, was = ids[i], new[i], old[i]
		if member and member ~= '' then
			members[n + 1], members[n + 2] = '0', member -- as a string, which needs no conversion
			n = n + 2
			if was ~= member then
				contents[#contents + 1] = id
				contents[#contents + 1] = member
				if not was then
					added = added + 1
				end
			end
		elseif was then
			removed[#removed + 1] = id
		end
		if was and was ~= member then
			obsolete[#obsolete + 1] = was
		end
	end
	if #obsolete > 0 then
		redis.call('ZREM', index, unpack(obsolete))
	end
	if n > 0 then
		redis.call('ZADD', index, unpack(members))
	end
	if #contents > 0 then
		redis.call('HSET', content, unpack(contents))
	end
	return added, #removed > 0 and redis.call('HDEL', content, unpack(removed)) or 0
end
