-- The beginning of scripts that intersect sets.

-- atOnce reports whether to intersect sets of some sizes at once: the smallest has at most
-- so many ids, and the matches that are expected, if the sets are independent of each other,
-- are not many more than are wanted. Otherwise scanning the smallest set finds these sooner.
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
