-- Shared by scripts that intersect sets.

-- atOnce reports whether to intersect sets in one step: the smallest set must have at most
-- `most` ids, and the number of matches expected for independent sets must not be much larger
-- than wanted. Otherwise scanning the smallest set finds the wanted matches sooner.
local function atOnce(sizes, all, want, most)
	local least = math.min(unpack(sizes))
	if least > most or least <= most / 4 or want >= 100 then
		return least <= most
	end
	local records = math.max(redis.call('ZCARD', all), 1)
	local matches = records
	for _, size in ipairs(sizes) do
		matches = matches * size / records
	end
	return matches <= 10 * want
end
