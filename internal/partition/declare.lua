-- What every script of an index begins with.

-- clock is the time of the server in milliseconds.
local function clock()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- lapsed tells whether a repair or rebuild has not been heard of for so long that
-- it must have been killed. deadline is false where there is none.
local function lapsed(deadline)
	return deadline and tonumber(deadline) < clock()
end

-- remembered reads the declaration that an index remembers, and compares it with
-- the one that the caller has. It returns what was read, and an error for the
-- caller to reply where they are not the same. What was read is empty in an index
-- that is new.
--
-- meta   hash: kind, declaration, partitions; during a repair or rebuild also
--        rebuild, its name, and until, when it ends if it is not heard of again
local function remembered(meta, kind, declaration, partitions)
	local found = redis.call('HMGET', meta, 'kind', 'declaration', 'partitions', 'rebuild', 'until')
	if found[1] and (found[1] ~= kind or found[2] ~= declaration or found[3] ~= partitions) then
		return found, redis.error_reply('DECLARED otherwise')
	end
	return found
end

-- unowned returns an error for the caller to reply where a key holds something
-- that no index made, or nil. Only for keys of an index without a declaration.
local function unowned(key, type)
	local holds = redis.call('TYPE', key).ok
	if holds == type then
		return redis.error_reply('FOREIGN')
	elseif holds ~= 'none' then
		return redis.error_reply('WRONGTYPE the key ' .. key .. ' holds a ' .. holds .. ' and no index')
	end
end

-- declared writes the declaration down in an index that is new. It returns
-- whether the index is being rebuilt, in which case a writer adds what it
-- changes to the key changed, or nil and an error for the caller to reply.
--
-- index  the sorted set; another type of key is left alone
local function declared(meta, kind, declaration, partitions, index)
	local found, refusal = remembered(meta, kind, declaration, partitions)
	if refusal then
		return nil, refusal
	elseif found[1] then
		return found[4] ~= false
	end
	local holds = index and redis.call('TYPE', index).ok or 'none'
	if holds ~= 'none' and holds ~= 'zset' then
		return nil, redis.error_reply('WRONGTYPE the key holds a ' .. holds .. ' and no index')
	end
	redis.call('HSET', meta, 'kind', kind, 'declaration', declaration, 'partitions', partitions)
	return false
end

-- opened is declared for scripts whose KEYS begin with those of a partition. It
-- leaves a sorted set alone that somebody made by hand, and what stands beside it.
-- A repair or rebuild that was killed ends here: what it left goes, and writers
-- need not note any more what they change.
--
-- more   another key that a rebuild makes, or nil
local function opened(kind, declaration, partitions, more)
	local found, refusal = remembered(KEYS[3], kind, declaration, partitions)
	if refusal then
		return nil, refusal
	elseif not found[1] then
		refusal = unowned(KEYS[1], 'zset') or unowned(KEYS[2], 'hash')
		if refusal then
			return nil, refusal
		end
		redis.call('HSET', KEYS[3], 'kind', kind, 'declaration', declaration, 'partitions', partitions)
		return false
	elseif not found[4] then
		return false
	elseif lapsed(found[5]) then
		redis.call('HDEL', KEYS[3], 'rebuild', 'until')
		redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6], more or KEYS[6])
		return false
	end
	return true
end

-- replaced returns an error for the caller to reply where a repair or rebuild is
-- not the one under way, or nil.
--
-- meta   hash: rebuild is its name
-- run    the name of the caller's
local function replaced(meta, run)
	local found = redis.call('HMGET', meta, 'rebuild', 'until')
	if found[1] ~= run or lapsed(found[2]) then
		return redis.error_reply('REPLACED by another run')
	end
end
