-- Writes the records that direct.lua, which has the keys and arguments, does not write.

local places, sorted = placesOf(slots, 6)
setsOf(values)
local nextReference = firstRecord - referred -- the first key of the next reference
local tried = referred == '0' and done -- the record that direct did not write

-- otherThan returns the values of fields, and whether they differ from those expected.
local function otherThan(record, from, to)
	if from > to then
		return
	end
	local names, differs = {}, false
	for i = from, to, 2 do
		names[#names + 1] = ARGV[i]
	end
	local found = call('HMGET', record, unpack(names))
	for i, value in ipairs(found) do
		differs = differs or (value and '=' .. value or '') ~= ARGV[from + 2 * i - 1]
	end
	return found, differs
end

-- validClaims returns the values in other slots that a record may enter, by claims that
-- have not ended.
local function validClaims(claims)
	local valid = {}
	if claims ~= '' then
		local list = cmsgpack.unpack(claims)
		for i = 1, #list, 4 do
			if tonumber(list[i + 3]) > now() and not call('ZSCORE', voids, list[i + 2]) then
				valid[list[i] .. ':' .. list[i + 1]] = true
			end
		end
	end
	return valid
end

-- write writes any record: it checks everything first.
local function write(key, r)
	local operation, id, packed, score, claims = r.operation, r.id, r.content, r.score, r.claims
	local record = KEYS[key]
	local before = call('HGET', content, id)
	local want, version = r.expected, nil
	if operation ~= 'create' and versionField ~= '' then
		version = call('HGET', record, versionField)
	end
	local exists = version or call('EXISTS', record) == 1
	if operation == 'put' then
		operation = exists and 'save' or 'create'
	elseif exists and operation == 'create' then
		return 'EXISTS'
	elseif not exists and operation == 'save' then
		return 'NOTFOUND'
	end
	if operation == 'save' then
		local kind = want:sub(1, 1)
		if kind == 'v' and (version or '0') ~= want:sub(2) or
			kind == 'd' and digestOf(record, r.checkFrom, r.checkTo) ~= want:sub(2) then
			return 'CONFLICT'
		end
		local found, differs = otherThan(record, r.otherFrom, r.otherTo)
		if differs then
			return { 'OTHER', found }
		end
	end

	-- Unchanged entries are neither left nor entered. Entries of indexes that the caller
	-- does not know stay until a migration. Those of an expired record with the same id may
	-- belong to others by now.
	local same = before == packed
	local new = cmsgpack.unpack(packed)
	local old = same and new or { 0 }
	local had, has = {}, {}
	local carried, expired = false, false
	if same then
		expired = old[1] ~= 0 and old[1] <= now()
	elseif before then
		old = unpacked(before)
		expired = old[1] ~= 0 and old[1] <= now()
		for i = 2, #old, 2 do
			if places[old[i]] then
				had[old[i] .. ':' .. old[i + 1]] = true
			else
				carried = true
				new[#new + 1] = old[i]
				new[#new + 1] = old[i + 1]
			end
		end
		for i = 2, #new, 2 do
			has[new[i] .. ':' .. new[i + 1]] = true
		end
	end
	local entered, left = { 0 }, { 0 }
	if not same or expired then
		for i = 2, #new, 2 do
			if places[new[i]] and (expired or not had[new[i] .. ':' .. new[i + 1]]) then
				entered[#entered + 1] = new[i]
				entered[#entered + 1] = new[i + 1]
			end
		end
	end
	if not same then
		for i = 2, #old, 2 do
			if places[old[i]] and not has[old[i] .. ':' .. old[i + 1]] then
				left[#left + 1] = old[i]
				left[#left + 1] = old[i + 1]
			end
		end
	end

	-- An expired owner no longer has a value. An owner without content may be a record that
	-- is not indexed yet.
	local valid = validClaims(claims)
	local dead = {}
	local missing = { 'CLAIM' }
	for i = 2, #entered, 2 do
		local number, value = entered[i], entered[i + 1]
		local place = places[number]
		if place == 0 then
			if not valid[number .. ':' .. value] then
				missing[#missing + 1] = number
				missing[#missing + 1] = value
			end
		elseif place < sorted then
			local owner = call('HGET', KEYS[place], value)
			if owner and owner ~= id then
				local its = call('HGET', content, owner)
				its = its and unpacked(its)
				if not its or its[1] == 0 or its[1] > now() then
					return { 'TAKEN', number, value, owner }
				end
				dead[owner] = its
			end
		end
	end
	if #missing > 1 then
		return claims == '' and missing or 'LATE'
	end
	local unknown = { 'KEYS' }
	lacking(unknown, entered)
	lacking(unknown, left)
	for _, entries in pairs(dead) do
		lacking(unknown, entries)
	end
	if #unknown > 1 then
		return unknown
	end

	-- Nothing is refused from here on, except a record that is not a hash: it is written first.
	local due = new[1] ~= old[1]
	if not before or next(dead) ~= nil then
		sound(places, sorted, all, expires, next(dead) == nil and { entered, left } or nil)
	else
		sound(places, sorted, nil, due and expires, { entered, left })
	end
	set(record, r.setFrom, operation == 'create' and r.newTo or r.setTo)
	if #entered > 1 and before then
		score = scoreOf(all, id, score)
	elseif not before then
		score = newScore(all, score)
		call('ZADD', all, score, id)
	end
	if operation == 'save' and want == '+' then
		if version and version:find('^%d+$') then
			call('HINCRBY', record, versionField, 1)
		else
			call('HSET', record, versionField, '1')
		end
	end
	for i = r.deleteFrom, r.deleteTo do
		call('HDEL', record, ARGV[i])
	end
	local release = {}
	local function released(entries)
		for i = 2, #entries, 2 do
			if places[entries[i]] == 0 then
				release[#release + 1] = entries[i]
				release[#release + 1] = entries[i + 1]
			end
		end
	end
	for owner, entries in pairs(dead) do
		forget(places, sorted, owner, entries, content, all, expires)
		released(entries)
	end
	if new[1] ~= 0 and (due or operation == 'create') then
		local time = string.format('%.0f', new[1])
		for i = key, key + stride - 1 do
			call('PEXPIREAT', KEYS[i], time)
		end
		call('ZADD', expires, time, id)
	elseif new[1] == 0 and due then
		for i = key, key + stride - 1 do
			call('PERSIST', KEYS[i])
		end
		call('ZREM', expires, id)
	end
	released(left)
	for i = 2, #left, 2 do
		leave(places, sorted, id, left[i], left[i + 1])
	end
	for i = 2, #entered, 2 do
		enter(places, sorted, id, entered[i], entered[i + 1], score)
	end
	if not same then
		call('HSET', content, id, carried and cmsgpack.pack(new) or packed)
	end
	if #release == 0 and r.shownFrom > r.shownTo then
		return 'OK'
	end
	return { 'OK', release, r.shownFrom > r.shownTo and {} or call('HMGET', record, unpack(ARGV, r.shownFrom, r.shownTo)) }
end

-- one writes a record that may have references.
local function one(key, r)
	if referred ~= '0' then
		local from, to = list()
		local dangling
		dangling, nextReference = danglingOf(KEYS[key], from, to, nextReference)
		if dangling and (r.operation ~= 'save' or call('EXISTS', KEYS[key]) == 1) then
			return dangling
		end
	end
	return done ~= tried and direct(key, r) or write(key, r)
end

return writeAll(one)
