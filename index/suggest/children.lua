-- Lists the extensions of a prefix by one byte or letter. Preceded by declare.lua,
-- value.lua and topk.lua.
--
-- KEYS[1]  sorted set: the index
-- ARGV[1]  the prefix
-- ARGV[2]  the maximum number of extensions to try
-- ARGV[3]  byte: extend by a byte; letter: by a letter (the prefix must not end within
--          a letter) and a suffix
-- ARGV[4]  letter: the suffix if the letter substitutes another
-- ARGV[5]  letter: the suffix if the letter is inserted
--
-- Reply    the extended prefixes that have terms

-- width returns the length of a letter given its first byte.
local function width(byte)
	if ARGV[3] == 'byte' or byte < 0xc0 then
		return 1
	elseif byte < 0xe0 then
		return 2
	elseif byte < 0xf0 then
		return 3
	end
	return 4
end

-- exists reports whether the index has terms with a prefix.
local function exists(prefix)
	return #redis.call('ZRANGEBYLEX', KEYS[1], from(prefix), to(prefix), 'LIMIT', 0, 1) > 0
end

local prefix, reply, seen = ARGV[1], {}, 0
local start = after(prefix)
while seen < tonumber(ARGV[2]) do
	local first = redis.call('ZRANGEBYLEX', KEYS[1], start, to(prefix), 'LIMIT', 0, 1)[1]
	if not first then
		break
	end
	local byte = string.byte(first, #prefix + 1)
	local child = string.sub(first, 1, #prefix + width(byte))
	if ARGV[3] == 'byte' then
		reply[#reply + 1] = child
	elseif byte ~= 9 then -- the term does not end here
		for i = 4, 5 do
			if exists(child .. ARGV[i]) then
				reply[#reply + 1] = child .. ARGV[i]
			end
		end
	end
	seen = seen + 1
	start = to(child)
end
return reply
