-- The encoding of terms. This file precedes all scripts of this package.
--
-- A term is stored in its normalized form, without control characters. Its member in the sorted
-- set index is the term, a tab and its head; the tab sorts before every character of a term.
-- Its value in the hash content starts with the head:
--
--     banana -> 274 \t Banana \n payload \n 273 \t Banana \n 1 \t
--
-- The head is the count and, unless it equals the term, the displayed spelling. A payload may
-- follow, and the counts of all spellings if there are several. A spelling equal to the term is
-- omitted everywhere.

local sub, byte, find, match = string.sub, string.byte, string.find, string.match

-- A further spelling replaces the rarest spelling and inherits its count. So a spelling with more
-- than 1/8 of the count of its term is always kept.
local MAX_SPELLINGS = 8

-- less reports whether a text sorts before another in byte order. (The operator < depends on
-- the locale of the server.) It skips the common prefix in blocks of 16; common is its known
-- length, if any.
local function less(a, b, common)
	local i, n = (common or 0) + 1, math.min(#a, #b)
	while i <= n and sub(a, i, i + 15) == sub(b, i, i + 15) do
		i = i + 16
	end
	for j = i, n do
		local x, y = byte(a, j), byte(b, j)
		if x ~= y then
			return x < y
		end
	end
	return #a < #b
end

-- text formats a count. Only half-lives produce fractions.
local function text(count)
	if count % 1 == 0 then
		return string.format('%.0f', count)
	end
	return string.format('%.17g', count)
end

-- countOf returns the count at the start of a head or a value, or nil.
local function countOf(value)
	local count = value and tonumber(match(value, '^(%d[%d.]*)%f[%z\t\n]'))
	if count and count > 0 and count < math.huge then
		return count
	end
end

-- headOf returns the head of a value.
local function headOf(value)
	local at = find(value, '\n', 1, true)
	return at and sub(value, 1, at - 1) or value
end

-- entry parses a member of the index and returns term, count and head. Without a count the
-- member is invalid.
local function entry(member)
	local term, head = match(member, '^([^\t]+)\t(.*)$')
	return term, countOf(head), head
end

-- halfLives returns the time of the server in half-lives since 1970, the unit of counts with a
-- half-life. halfLife is in microseconds; empty: none.
local function halfLives(halfLife)
	if halfLife ~= '' then
		local time = redis.call('TIME')
		return (time[1] * 1000000 + time[2]) / halfLife
	end
end

-- spellingsOf returns the spellings in a valid value, each with its count, and the payload,
-- or nil.
local function spellingsOf(value)
	local head = headOf(value)
	local payload, rest = match(value, '^\n([^\n]*)(.*)$', #head + 1)
	local list = {}
	for count, spelling in string.gmatch(rest or '', '\n(%d[%d.]*)\t([^\n]*)') do
		list[#list + 1] = {count = tonumber(count), spelling = spelling}
	end
	if #list == 0 then
		list[1] = {count = countOf(head), spelling = match(head, '\t(.*)$') or ''}
	end
	return list, payload ~= '' and payload or nil
end

-- rarest returns the position of the least frequent spelling; ties go to the last in byte order.
-- If reverse is set, it returns the most frequent spelling; ties go to the first in byte order.
local function rarest(list, term, reverse)
	local at = 1
	for i = 2, #list do
		local a, b = list[i], list[at]
		local before
		if a.count ~= b.count then
			before = a.count > b.count
		else
			before = less(a.spelling == '' and term or a.spelling, b.spelling == '' and term or b.spelling)
		end
		if before == (reverse or false) then
			at = i
		end
	end
	return at
end

-- vote adds searches to the count of a spelling. add returns the sum of these searches
-- and a count, which may be nil.
local function vote(list, term, spelling, add)
	for _, s in ipairs(list) do
		if s.spelling == spelling then
			s.count = add(s.count)
			return
		end
	end
	if #list < MAX_SPELLINGS then
		list[#list + 1] = {count = add(nil), spelling = spelling}
		return
	end
	local s = list[rarest(list, term)]
	s.spelling, s.count = spelling, add(s.count)
end

-- decrement subtracts searches from the rarest spellings, so that the displayed spelling stays.
local function decrement(list, term, n)
	while #list > 1 do
		local at = rarest(list, term)
		if list[at].count > n then
			list[at].count = list[at].count - n
			return
		end
		n = n - list[at].count
		table.remove(list, at)
	end
end

-- valueOf builds the value of a term.
local function valueOf(term, count, list, payload)
	local shown = list[rarest(list, term, true)].spelling
	local lines = {text(count) .. (shown ~= '' and '\t' .. shown or ''), payload}
	if #list > 1 then
		lines[2] = payload or ''
		for i, s in ipairs(list) do
			lines[i + 2] = text(s.count) .. '\t' .. s.spelling
		end
	end
	return table.concat(lines, '\n')
end
