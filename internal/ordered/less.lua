-- less(a, b) reports whether a sorts before b. It compares bytes, four at a time. Scripts are
-- appended to this file. Lua's < depends on the locale of the server. Lua's == takes constant time,
-- which is used to skip the common prefix of long strings.
local unpack4 = struct.unpack
local function less(a, b)
	local n, i = math.min(#a, #b), 1
	while i + 63 <= n and a:sub(i, i + 63) == b:sub(i, i + 63) do
		i = i + 64
	end
	while i + 3 <= n do
		local x, y = unpack4('>I4', a, i), unpack4('>I4', b, i)
		if x ~= y then
			return x < y
		end
		i = i + 4
	end
	while i <= n do
		local x, y = a:byte(i), b:byte(i)
		if x ~= y then
			return x < y
		end
		i = i + 1
	end
	return #a < #b
end
