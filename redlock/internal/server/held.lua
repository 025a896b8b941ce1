-- Shared by extend.lua, release.lua and owner.lua, which are sent after this text.
--
-- held reports whether a value is the lock's, or one of the earlier values of the lock that
-- are the arguments from position first on.
local function held(value, own, first)
	if value == own then
		return true
	end
	for i = first, #ARGV do
		if value == ARGV[i] then
			return true
		end
	end
	return false
end
