-- Reads a range of a lexicographic index and filters its members by column bounds. Preceded by
-- less.lua.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1], ARGV[2]  the range, as ZRANGEBYLEX takes it
-- ARGV[3]   '1': from the end of the range
-- ARGV[4]   maximum number of members to reply; '0': only count them
-- ARGV[5]   maximum number of members to examine
-- ARGV[6..] how to read the leading columns of a member, four arguments each:
--           width      bytes; '0': up to a terminator
--           escape     if width is 0: the escape byte and the terminator byte. With a
--                      third byte, the terminator alone ends the column; otherwise,
--                      the escape byte followed by the terminator does
--           low, high  the column must not be below low, and must be below high;
--                      empty: no bound
--
-- Reply  { number of members that pass, the last member examined or '' at the end of
--          the range, members ... }

-- position is the position of a column, or nil if a column before it has no fixed width.
local columns, position = {}, 1
for i = 6, #ARGV, 4 do
	local c = {
		width = tonumber(ARGV[i]), position = position,
		escape = ARGV[i + 1]:byte(1), terminator = ARGV[i + 1]:byte(2), single = ARGV[i + 1]:byte(3),
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
	position = position and c.width > 0 and position + c.width or nil
	if c.bound or c.width == 0 or not position then
		columns[#columns + 1] = c
	end
end

-- columnEnd returns the last position of a column that starts at from.
local function columnEnd(member, from, c)
	if c.width > 0 then
		return from + c.width - 1
	end
	local i, n = from, #member
	while i <= n do
		local b = member:byte(i)
		if b == c.escape then
			if not c.single and member:byte(i + 1) == c.terminator then
				return i + 1
			end
			i = i + 1
		elseif c.single and b == c.terminator then
			return i
		end
		i = i + 1
	end
	return n
end

-- passes reports whether a member satisfies all bounds.
local function passes(member)
	local from = 1
	for _, c in ipairs(columns) do
		from = c.position or from
		local to = columnEnd(member, from, c)
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

local limit, examine = tonumber(ARGV[4]), tonumber(ARGV[5])
local members
if ARGV[3] == '1' then
	members = redis.call('ZREVRANGEBYLEX', KEYS[1], ARGV[2], ARGV[1], 'LIMIT', 0, examine)
else
	members = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, examine)
end
local reply = {0, #members == examine and members[#members] or ''}
local n = 0
for _, member in ipairs(members) do
	if passes(member) then
		n = n + 1
		if limit > 0 then
			reply[n + 2] = member
			if n == limit then
				reply[2] = member
				break
			end
		end
	end
end
reply[1] = n
return reply
