-- Common start of all scripts of an index.

-- clock returns the time of the server in milliseconds.
local function clock()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- lapsed reports whether a repair or rebuild has not renewed its lease, because its process was
-- killed. deadline is false if there is no lease.
local function lapsed(deadline)
	return deadline and tonumber(deadline) < clock()
end

-- readDeclaration reads the stored declaration and compares it with the caller's. It returns the
-- stored fields, and an error for the caller to reply if the declarations differ. For a new index,
-- the fields are empty.
--
-- meta   hash: kind, declaration, partitions; during a repair or rebuild also
--        rebuild, its name, and until, when its lease ends
local function readDeclaration(meta, kind, declaration, partitions)
	local found = redis.call('HMGET', meta, 'kind', 'declaration', 'partitions', 'rebuild', 'until')
	if found[1] and (found[1] ~= kind or found[2] ~= declaration or found[3] ~= partitions) then
		return found, redis.error_reply('DECLARED otherwise')
	end
	return found
end

-- unowned returns an error for the caller to reply if a key holds something that no index
-- created, or nil. It is only for keys of an index without a declaration.
local function unowned(key, type)
	local holds = redis.call('TYPE', key).ok
	if holds == type then
		return redis.error_reply('FOREIGN')
	elseif holds ~= 'none' then
		return redis.error_reply('FOREIGN the key ' .. key .. ' holds a ' .. holds)
	end
end

-- tracked reports whether a repair or rebuild is in progress, so that a writer adds the IDs that
-- it changes to the key changed. It removes the leftovers of a killed run. KEYS begin with the keys
-- of a partition.
--
-- found  the reply of readDeclaration
-- more   another key that a rebuild creates, or nil
local function tracked(found, more)
	if not found[4] then
		return false
	elseif lapsed(found[5]) then
		redis.call('HDEL', KEYS[3], 'rebuild', 'until')
		redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6], more or KEYS[6])
		return false
	end
	return true
end

-- storeDeclaration stores the declaration of a new index. It returns an error for the caller to
-- reply if a different declaration is stored.
local function storeDeclaration(meta, kind, declaration, partitions)
	local found, refusal = readDeclaration(meta, kind, declaration, partitions)
	if not found[1] then
		redis.call('HSET', meta, 'kind', kind, 'declaration', declaration, 'partitions', partitions)
	end
	return refusal
end

-- checkDeclaration is like readDeclaration for a partition, whose keys are the first of KEYS. It
-- also returns an error if the keys hold something that no index created.
local function checkDeclaration(kind, declaration, partitions)
	local found, refusal = readDeclaration(KEYS[3], kind, declaration, partitions)
	if not found[1] then
		refusal = unowned(KEYS[1], 'zset') or unowned(KEYS[2], 'hash')
	end
	return found, refusal
end

-- openPartition starts a script that writes to a partition, whose keys are the first of KEYS. It
-- returns the reply of tracked, or nil and an error for the caller to reply: the index is declared
-- differently, or its keys hold something that no index created.
--
-- more   another key that a rebuild creates, or nil
local function openPartition(kind, declaration, partitions, more)
	local found, refusal = checkDeclaration(kind, declaration, partitions)
	if refusal then
		return nil, refusal
	elseif not found[1] then
		redis.call('HSET', KEYS[3], 'kind', kind, 'declaration', declaration, 'partitions', partitions)
		return false
	end
	return tracked(found, more)
end

-- replaced returns an error for the caller to reply if the caller's repair or rebuild is no longer
-- in progress, or nil.
--
-- meta   hash: rebuild is the name of the run in progress
-- run    the name of the caller's run
local function replaced(meta, run)
	local found = redis.call('HMGET', meta, 'rebuild', 'until')
	if found[1] ~= run or lapsed(found[2]) then
		return redis.error_reply('REPLACED by another run')
	end
end
