-- Shared by the scripts that change postings. Preceded by declare.lua. See keys.go for the keys
-- of a term, and segment.go for the format of a segment.
--
-- Strings with ids are never compared as text, which depends on the locale of the server.
-- Numbers are exact, because ids are less than 2^53.

local call, try = redis.call, redis.pcall
local pack, unpackAt = struct.pack, struct.unpack
local sub, floor = string.sub, math.floor

local header = 16   -- bytes of a tail before its ids: the number of ids in segments, and the largest of them
local segmentHeader = 9 -- bytes of a segment before its ids: its kind and its origin

-- text formats an integer of up to 53 bits.
local function text(n)
	return string.format('%.0f', n)
end

-- find searches a list of ascending numbers of width bytes each, which starts after skip bytes.
-- It returns the number of bytes before the first number >= n, and whether that number equals n.
local function find(list, skip, width, n)
	local format = '>I' .. width
	local low, high = 0, floor((#list - skip) / width)
	local last = high
	while low < high do
		local middle = floor((low + high) / 2)
		if unpackAt(format, list, skip + middle * width + 1) < n then
			low = middle + 1
		else
			high = middle
		end
	end
	local at = skip + low * width
	return at, low < last and unpackAt(format, list, at + 1) == n
end

-- level returns the magnitude of a number of documents: starting at 32, it grows with each
-- factor of 8.
local function level(count)
	local n, l = 32, 0
	while count >= n and l < 9 do
		n, l = n * 8, l + 1
	end
	return l
end

-- isWord reports whether a term is a word: exact terms start with an equals sign, stems with a
-- tilde.
local function isWord(term)
	local first = string.byte(term)
	return first ~= 61 and first ~= 126
end

-- relist updates a word in the list of words when its number of documents changes from before to
-- after. The list only serves to complete prefixes, so a damaged list does not make a write fail.
local function relist(list, term, before, after)
	if not isWord(term) then
		return
	end
	local old, new = level(before), level(after)
	if after == 0 or old ~= new then
		try('ZREM', list, old .. term)
	end
	if after > 0 and old ~= new then
		try('ZADD', list, 0, new .. term)
	end
end

-- magnitude returns the number of documents by which the list of words ranks a term: the
-- documents in segments, or in the tail if there are no segments.
local function magnitude(tail)
	local sealed = unpackAt('>I8', tail)
	return sealed > 0 and sealed or floor((#tail - header) / 8)
end

-- place returns the base of the segment for an id, and the segment.
local function place(dir, seg, id)
	local base = call('ZREVRANGEBYSCORE', dir, text(id), '-inf', 'LIMIT', 0, 1)[1]
	return base, base and call('HGET', seg, base)
end

-- putSegment stores a segment and its base.
local function putSegment(dir, seg, base, data)
	call('ZADD', dir, base, base)
	call('HSET', seg, base, data)
end

-- newSegment returns a segment with one id. Its origin leaves room for smaller ids.
local function newSegment(base, id)
	local origin = math.max(base, id - 2147483648)
	return 'o' .. pack('>I8', origin) .. pack('>I4', id - origin)
end

-- insertOffset adds an offset to a segment of offsets, and splits the segment if it is full.
local function insertOffset(dir, seg, base, data, offset, maxSize)
	local at, found = find(data, segmentHeader, 4, offset)
	if found then
		return false
	end
	if #data + 4 > maxSize then
		local half = segmentHeader + 4 * floor((#data - segmentHeader) / 8)
		local middle = unpackAt('>I4', data, half + 1)
		local first = text(unpackAt('>I8', data, 2) + middle)
		local left, right = sub(data, 1, half), sub(data, 1, segmentHeader) .. sub(data, half + 1)
		putSegment(dir, seg, base, left)
		putSegment(dir, seg, first, right)
		if offset < middle then
			data = left
		else
			base, data = first, right
		end
		at = find(data, segmentHeader, 4, offset)
	end
	call('HSET', seg, base, sub(data, 1, at) .. pack('>I4', offset) .. sub(data, at + 1))
	return true
end

-- setBit sets a bit in a bitmap segment.
local function setBit(seg, base, data, offset)
	local at, bit = segmentHeader + 1 + floor(offset / 8), 2 ^ (offset % 8)
	if at > #data then
		data = data .. string.rep('\0', at - #data)
	end
	local byte = string.byte(data, at)
	if floor(byte / bit) % 2 == 1 then
		return false
	end
	call('HSET', seg, base, sub(data, 1, at - 1) .. string.char(byte + bit) .. sub(data, at + 1))
	return true
end

-- insertSealed adds an id to the segment returned by place, and reports whether it is new. If
-- the segment cannot hold the id, it starts another segment, which also has room for the ids
-- in between.
local function insertSealed(dir, seg, base, data, id, maxSize)
	if not data then
		putSegment(dir, seg, '0', newSegment(0, id))
		return true
	end
	local origin = unpackAt('>I8', data, 2)
	local offset = id - origin
	local bitmap = string.byte(data) == 98
	local range = bitmap and 8 * (maxSize - segmentHeader) or 4294967296
	if offset < 0 then
		putSegment(dir, seg, text(origin), data)
		putSegment(dir, seg, base, newSegment(tonumber(base), id))
		return true
	elseif offset >= range then
		local next = bitmap and origin + range or origin + range * floor(offset / range)
		putSegment(dir, seg, text(next), newSegment(next, id))
		return true
	elseif bitmap then
		return setBit(seg, base, data, offset)
	end
	return insertOffset(dir, seg, base, data, offset, maxSize)
end

-- removeSealed removes an id from the segment returned by place, and reports whether it
-- existed.
local function removeSealed(dir, seg, base, data, id)
	if not data then
		return false
	end
	local offset = id - unpackAt('>I8', data, 2)
	if string.byte(data) == 98 then
		local at, bit = segmentHeader + 1 + floor(offset / 8), 2 ^ (offset % 8)
		local byte = at > segmentHeader and string.byte(data, at)
		if not byte or floor(byte / bit) % 2 == 0 then
			return false
		end
		data = sub(data, 1, at - 1) .. string.char(byte - bit) .. sub(data, at + 1)
	else
		local at, found = find(data, segmentHeader, 4, offset)
		if not found then
			return false
		end
		data = sub(data, 1, at) .. sub(data, at + 5)
	end
	if string.find(data, '%Z', segmentHeader + 1) or string.byte(data) ~= 98 and #data > segmentHeader then
		call('HSET', seg, base, data)
	else
		call('HDEL', seg, base)
		call('ZREM', dir, base)
	end
	return true
end
