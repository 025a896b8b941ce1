-- Reads a range of a lexicographic index and keeps the members whose columns are
-- within bounds.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1], ARGV[2]  the range, as ZRANGEBYLEX takes it; with ARGV[3] '1' from
--                   its end
-- ARGV[4]   how many members to keep at most; '0': only count them
-- ARGV[5]   how many members to look at, at most
-- ARGV[6..] how to read the columns of a member, four for each of the first:
--           width    bytes; '0': up to a terminator
--           escape   where there is no width: the byte that escapes the next,
--                    and the terminator: with a third byte it stands alone,
--                    without one behind the escape
--           low, high  the column is not below low, and below high; empty:
--                    no bound
--
-- Reply  { how many are kept, the last member looked at or '' at the end of the
--          range, members ... }

-- less compares bytes. Lua's own comparison follows the locale of the server.
local function less(a, b)
	local n = math.min(#a, #b)
	for i = 1, n do
		local x, y = a:byte(i), b:byte(i)
		if x ~= y then
			return x < y
		end
	end
	return #a < #b
end

local columns = {}
for i = 6, #ARGV, 4 do
	columns[#columns + 1] = {
		width = tonumber(ARGV[i]),
		escape = ARGV[i + 1]:byte(1), finish = ARGV[i + 1]:byte(2), plain = ARGV[i + 1]:byte(3),
		bound = ARGV[i + 2] ~= '' or ARGV[i + 3] ~= '',
		low = ARGV[i + 2], high = ARGV[i + 3],
	}
end

-- ending returns where a column ends that begins at from.
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

local function kept(member)
	local from = 1
	for _, c in ipairs(columns) do
		local to = ending(member, from, c)
		if c.bound then
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
	if kept(member) then
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
