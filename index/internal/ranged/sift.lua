-- Reads a range of a lexicographic index and filters its members by column bounds. Preceded by
-- less.lua.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1], ARGV[2]  the range, as ZRANGEBYLEX takes it
-- ARGV[3]   '1': from its end
-- ARGV[4]   maximum number of members to reply; '0': only count them
-- ARGV[5]   maximum number of members to examine
-- ARGV[6..] how to read the leading columns of a member, four arguments each:
--           width      bytes; '0': up to a terminator
--           escape     if width is 0: the byte that escapes the next one, and the
--                      terminator. With a third byte the terminator is one byte,
--                      without it the escape and the terminator
--           low, high  the column must not be below low, and must be below high;
--                      empty: no bound
--
-- Reply  { number of members that pass, the last member examined or '' at the end of
--          the range, members ... }

-- place is the position of a column if all columns before it have a fixed width.
local columns, place = {}, 1
for i = 6, #ARGV, 4 do
	local c = {
		width = tonumber(ARGV[i]), place = place,
		escape = ARGV[i + 1]:byte(1), finish = ARGV[i + 1]:byte(2), plain = ARGV[i + 1]:byte(3),
		low = ARGV[i + 2], high = ARGV[i + 3],
	}
	c.bound = c.low ~= '' or c.high ~= ''
	if c.width == 8 then
		-- Numbers are compared in two halves. Shorter bounds are padded with zeros.
		c.low1, c.low2 = unpack4('>I4I4', c.low .. ('\0'):rep(8 - #c.low))
		c.high1, c.high2 = 2 ^ 32, 0
		if c.high ~= '' then
			c.high1, c.high2 = unpack4('>I4I4', c.high .. ('\0'):rep(8 - #c.high))
		end
	end
	place = place and c.width > 0 and place + c.width or nil
	if c.bound or c.width == 0 or not place then
		columns[#columns + 1] = c
	end
end

-- ending returns the last position of a column that starts at from.
local function ending(member, from, c)
	if c.width > 0 then
		return from + c.width - 1
	end
	local i, n = from, #member
	while i <= n do
		local b = member:byte(i)
		if b == c.escape then
			if not c.plain and member:byte(i + 1) == c.finish then
				return i + 1
			end
			i = i + 1
		elseif c.plain and b == c.finish then
			return i
		end
		i = i + 1
	end
	return n
end

local function passes(member)
	local from = 1
	for _, c in ipairs(columns) do
		from = c.place or from
		local to = ending(member, from, c)
		if to > #member then -- not written by this index
			return false
		end
		if c.width == 8 then
			local x, y = unpack4('>I4I4', member, from)
			if x < c.low1 or x == c.low1 and y < c.low2 or x > c.high1 or x == c.high1 and y >= c.high2 then
				return false
			end
		elseif c.bound then
			local value = member:sub(from, to)
			if less(value, c.low) or (c.high ~= '' and not less(value, c.high)) then
				return false
			end
		end
		from = to + 1
	end
	return true
end

local want, look = tonumber(ARGV[4]), tonumber(ARGV[5])
local members
if ARGV[3] == '1' then
	members = redis.call('ZREVRANGEBYLEX', KEYS[1], ARGV[2], ARGV[1], 'LIMIT', 0, look)
else
	members = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, look)
end
local reply = {0, #members == look and members[#members] or ''}
local n = 0
for _, member in ipairs(members) do
	if passes(member) then
		n = n + 1
		if want > 0 then
			reply[n + 2] = member
			if n == want then
				reply[2] = member
				break
			end
		end
	end
end
reply[1] = n
return reply
