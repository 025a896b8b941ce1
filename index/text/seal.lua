-- Moves the oldest ids of a tail to segments, if nothing has changed since sealing.lua read
-- the ids. The script can be repeated. Preceded by declare.lua and postings.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]…[9]  the tail of the term, its dir and its seg
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the generation of the term
-- ARGV[5]      the term
-- ARGV[6]      number of bytes of the tail to move, with the header; [7] their SHA-1
-- ARGV[8]      base of the last segment, or empty; [9] the SHA-1 of that segment
-- ARGV[10]     the new header of the tail
-- ARGV[11]…    segments: base, bytes, …
--
-- Reply        1, or 0 if something has changed

local state = call('HMGET', KEYS[3], 'generation', 'next')
local list = KEYS[1]
if (state[1] or '0') ~= ARGV[4] then
	if state[2] ~= ARGV[4] then
		return 0
	end
	list = KEYS[4]
end
local tail = call('GET', KEYS[7])
local moved = tonumber(ARGV[6])
if not tail or redis.sha1hex(sub(tail, 1, moved)) ~= ARGV[7] then
	return 0
end
local base = call('ZRANGE', KEYS[8], -1, -1)[1] or ''
if base ~= ARGV[8] or base ~= '' and redis.sha1hex(call('HGET', KEYS[9], base) or '') ~= ARGV[9] then
	return 0
end
for i = 11, #ARGV, 2 do
	putSegment(KEYS[8], KEYS[9], ARGV[i], ARGV[i + 1])
end
local rest = ARGV[10] .. sub(tail, moved + 1)
call('SET', KEYS[7], rest)
relist(list, ARGV[5], magnitude(tail), magnitude(rest))
return 1
