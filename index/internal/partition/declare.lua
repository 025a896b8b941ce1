-- What every script of an index begins with.

-- declared compares the declaration that an index remembers with the one that
-- the caller has, and writes it down in an index that is new. It returns
-- whether the index is being rebuilt, in which case a writer adds what it
-- changes to the key changed, or nil and an error for the caller to reply.
--
-- meta   hash: kind, declaration, partitions; rebuild while it is rebuilt
-- kind, declaration, partitions   what the caller expects there
-- index  of a writer: the sorted set; another key there is left alone
local function declared(meta, kind, declaration, partitions, index)
	local found = redis.call('HMGET', meta, 'kind', 'declaration', 'partitions', 'rebuild')
	if found[1] == kind and found[2] == declaration and found[3] == partitions then
		return found[4] ~= false
	elseif not found[1] then
		local holds = index and redis.call('TYPE', index).ok or 'none'
		if holds ~= 'none' and holds ~= 'zset' then
			return nil, redis.error_reply('WRONGTYPE the key holds a ' .. holds .. ' and no index')
		end
		redis.call('HSET', meta, 'kind', kind, 'declaration', declaration, 'partitions', partitions)
		return false
	end
	return nil, redis.error_reply('DECLARED otherwise')
end

-- replaced returns an error for the caller to reply where a repair or rebuild is
-- not the one under way, or nil.
--
-- meta   hash: rebuild is its name
-- run    the name of the caller's
local function replaced(meta, run)
	if redis.call('HGET', meta, 'rebuild') ~= run then
		return redis.error_reply('REPLACED by another run')
	end
end
