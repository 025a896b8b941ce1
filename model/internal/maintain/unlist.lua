-- Removes values from a directory that no record has.
--
-- KEYS 1 meta, 2 directory of the values, then the set of each
-- ARGV 1 verify: changes nothing, or repair, 2 stamp of the declaration, then the values
-- Reply SCHEMA, or the numbers of the values without a set, from 1

local meta, directory = unpack(KEYS, 1, 2)
if not inForce(meta, ARGV[2]) then
	return 'SCHEMA'
end
local wrong = {}
for i = 1, #KEYS - 2 do
	if redis.call('EXISTS', KEYS[2 + i]) == 0 and redis.call('ZSCORE', directory, ARGV[2 + i]) then
		wrong[#wrong + 1] = i
		if ARGV[1] ~= 'verify' then
			redis.call('ZREM', directory, ARGV[2 + i])
		end
	end
end
return wrong
