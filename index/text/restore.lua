-- Writes the postings of a damaged term anew, in one step, if they are still those that
-- were read. Its work is that of the whole term. Preceded by declare.lua and postings.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]…[10] rare, tail, dir and seg of the term
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the generation
-- ARGV[5]      the term
-- ARGV[6]      the ids of the rare term that were read, or empty; [7] the tail, or empty
-- ARGV[8]      the new ids of a rare term, or empty; [9] the new tail, or empty
-- ARGV[10]…    segments: where one begins, its bytes, …
--
-- Reply        1, or 0 if something has changed

if (call('HGET', KEYS[3], 'generation') or '0') ~= ARGV[4] then
	return 0
end
local isHash = call('TYPE', KEYS[7]).ok ~= 'string' and call('TYPE', KEYS[7]).ok ~= 'zset'
local rare = isHash and call('HGET', KEYS[7], ARGV[5]) or ''
local tail = call('TYPE', KEYS[8]).ok == 'string' and call('GET', KEYS[8]) or ''
if rare ~= ARGV[6] or tail ~= ARGV[7] then
	return 0
end
call('UNLINK', KEYS[8], KEYS[9], KEYS[10])
if ARGV[8] ~= '' then
	call('HSET', KEYS[7], ARGV[5], ARGV[8])
elseif isHash then
	call('HDEL', KEYS[7], ARGV[5])
end
if ARGV[9] ~= '' then
	call('SET', KEYS[8], ARGV[9])
end
for i = 10, #ARGV, 2 do
	putSegment(KEYS[9], KEYS[10], ARGV[i], ARGV[i + 1])
end
return 1
