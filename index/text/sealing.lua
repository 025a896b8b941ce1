-- Reads the data that seal.lua needs. Preceded by declare.lua and postings.lua.
--
-- KEYS[1]  the tail of a term; [2] its dir; [3] its seg
--
-- Reply    {tail, base of the last segment, that segment}; {tail} if there is no
--          segment, {} if there is no tail

local tail = call('GET', KEYS[1])
if not tail then
	return {}
end
local base = call('ZRANGE', KEYS[2], -1, -1)[1]
if not base then
	return {tail}
end
return {tail, base, call('HGET', KEYS[3], base) or ''}
