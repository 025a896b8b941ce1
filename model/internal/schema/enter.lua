-- The beginning of scripts that read or write index entries.
--
-- The content of a record is a MessagePack list: the millisecond at which it expires or
-- 0, then number and value of each entry. A member of a sorted set is the value
-- followed by the id. An index with a set for each value has ids in these, with the
-- scores of all, and the values in its directory.

local call = redis.call -- looked up once
local sizes = {} -- how many ids sets have, by their positions, if that is known
local inSortedSet, inHash = 0, 1 -- in the place of a directory: another index

-- enterAt enters a record into an index. score is that of the record in all.
--
-- at          the position of the index in KEYS, or of the set of the value
-- directory   the position of the directory of the set; or inSortedSet, or inHash: a unique
--             index
local function enterAt(at, directory, id, value, score)
	if directory > inHash then
		local added = call('ZADD', KEYS[at], score, id)
		if (sizes[at] or 0) == 0 then
			call('ZADD', KEYS[directory], '0', value)
		end
		sizes[at] = sizes[at] and sizes[at] + added
	elseif directory == inSortedSet then
		call('ZADD', KEYS[at], '0', value .. id)
	else
		call('HSET', KEYS[at], value, id)
	end
end

-- leaveAt is the reverse of enterAt.
local function leaveAt(at, directory, id, value)
	if directory > inHash then
		local removed = call('ZREM', KEYS[at], id)
		sizes[at] = sizes[at] and sizes[at] - removed
		if (sizes[at] or call('EXISTS', KEYS[at])) == 0 then
			call('ZREM', KEYS[directory], value)
		end
	elseif directory == inSortedSet then
		call('ZREM', KEYS[at], value .. id)
	elseif call('HGET', KEYS[at], value) == id then
		call('HDEL', KEYS[at], value)
	end
end

-- now returns the time of the server in milliseconds, and in microseconds.
local function now()
	local time = call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000), time[1] * 1000000 + time[2]
end

-- newScore returns the score of a new record in the order of creation: the given one, or
-- after the last one the time of the server.
local function newScore(all, score)
	if score ~= '' then
		return score
	end
	local _, time = now()
	local last = call('ZRANGE', all, -1, -1, 'WITHSCORES')[2]
	return string.format('%.0f', math.max(time, last and last + 1 or 0))
end

-- writable reports whether a caller may write, by the digest of its declaration and the
-- token of its numbers of the indexes.
local function writable(meta, stamp)
	local found = call('HMGET', meta, 'digest', 'also', 'token')
	local token = found[3] or ''
	return stamp == (found[1] or '') .. token or found[2] and stamp == found[2] .. token
end
