-- Lists a word in the magnitude that it has. Preceded by declare.lua and postings.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      rare of the term; [8] its tail
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      the generation
-- ARGV[5]      the term
-- ARGV[6]      '1': correct the list
--
-- Reply        0: the list is right; 1: the word is missing; 2: it is listed wrongly

if (call('HGET', KEYS[3], 'generation') or '0') ~= ARGV[4] then
	return 0
end
if call('TYPE', KEYS[1]).ok ~= 'zset' and call('EXISTS', KEYS[1]) == 1 then
	if ARGV[6] ~= '1' then
		return 2
	end
	call('UNLINK', KEYS[1])
end
local tail = call('GET', KEYS[8])
local count = 0
if tail and #tail >= header then
	count = magnitude(tail)
elseif not tail then
	count = #(call('HGET', KEYS[7], ARGV[5]) or '') / 8
end
if not isWord(ARGV[5]) then
	count = 0 -- it is not listed
end
local right, listed, wrong = level(count), nil, false
for l = 0, 9 do
	local score = call('ZSCORE', KEYS[1], l .. ARGV[5])
	if score and l == right and count > 0 and score == '0' then
		listed = true
	elseif score then
		wrong = true
		if ARGV[6] == '1' then
			call('ZREM', KEYS[1], l .. ARGV[5])
		end
	end
end
if ARGV[6] == '1' and not listed and count > 0 and (right > 0 or wrong) then
	call('ZADD', KEYS[1], 0, right .. ARGV[5])
end
if wrong then
	return 2
end
return right > 0 and not listed and 1 or 0
