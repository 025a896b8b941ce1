-- Lists what follows a prefix. Preceded by declare.lua and heads.lua.
--
-- KEYS[1]  sorted set: the index
-- ARGV[1]  the prefix
-- ARGV[2]  how many at most
-- ARGV[3]  byte: list bytes; letter: list letters, for which the prefix must
--          not end within one
-- ARGV[4]  what stood behind the letter before, where this one would be another
-- ARGV[5]  the same where this one would be one too many
--
-- Reply    the prefix with each byte that a key has behind it, or that its entry has.
--          Of letters only those behind which ARGV[4] follows,
--          or ARGV[5], with that behind them.

-- width is how many bytes a letter has that begins with a byte.
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

local function exists(prefix)
	return #redis.call('ZRANGEBYLEX', KEYS[1], from(prefix), to(prefix), 'LIMIT', 0, 1) > 0
end

local prefix, reply, seen = ARGV[1], {}, 0
local at = behind(prefix)
while seen < tonumber(ARGV[2]) do
	local first = redis.call('ZRANGEBYLEX', KEYS[1], at, to(prefix), 'LIMIT', 0, 1)[1]
	if not first then
		break
	end
	local byte = string.byte(first, #prefix + 1)
	local child = string.sub(first, 1, #prefix + width(byte))
	if ARGV[3] == 'byte' then
		reply[#reply + 1] = child
	elseif byte ~= 58 then
		for i = 4, 5 do
			if exists(child .. ARGV[i]) then
				reply[#reply + 1] = child .. ARGV[i]
			end
		end
	end
	seen = seen + 1
	at = to(child)
end
return reply
