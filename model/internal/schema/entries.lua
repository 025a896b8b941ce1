-- Shared by scripts that read the contents of records.
--
-- The content of a record is a MessagePack list: the millisecond at which it expires or 0, then
-- the index number and the value of each entry. A member of a sorted set is the value followed
-- by the id. An index with a set per value stores ids in these sets, with the same scores as in
-- all, and the values in its directory.

local call = redis.call -- avoids repeated lookups

-- now returns the time of the server in milliseconds.
local function now()
	local time = call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- unpacked returns a content as a list, and true; or an empty list if the content is missing or
-- damaged.
local function unpacked(content)
	local ok, entries = pcall(cmsgpack.unpack, content or '')
	if not ok or type(entries) ~= 'table' or type(entries[1]) ~= 'number' or #entries % 2 == 0 then
		return { 0 }, false
	end
	for i = 2, #entries, 2 do
		if type(entries[i]) ~= 'number' or type(entries[i + 1]) ~= 'string' then
			return { 0 }, false
		end
	end
	return entries, true
end

-- has reports whether the content of a record has an entry.
local function has(entries, number, value)
	for i = 2, #entries, 2 do
		if entries[i] == number and entries[i + 1] == value then
			return true
		end
	end
	return false
end

-- inForce reports whether the declaration of a caller is in force, given its stamp: the digest
-- of the declaration and the token of its index numbers.
local function inForce(meta, stamp)
	local found = call('HMGET', meta, 'digest', 'token')
	return stamp == (found[1] or '') .. (found[2] or '')
end

-- writable reports whether a caller may write, given its stamp.
local function writable(meta, stamp)
	local found = call('HMGET', meta, 'digest', 'also', 'token')
	local token = found[3] or ''
	return stamp == (found[1] or '') .. token or found[2] and stamp == found[2] .. token
end
