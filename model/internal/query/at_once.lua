-- Shared by scripts that intersect sets.

-- atOnce reports whether to intersect sets in one step: the smallest set must have at most
-- maxSize ids, and the number of matches expected for independent sets must not be much larger
-- than the number wanted. Otherwise a scan of the smallest set finds enough matches sooner.
local function atOnce(sizes, all, want, maxSize)
	local smallest = math.min(unpack(sizes))
	if smallest > maxSize or smallest <= maxSize / 4 or want >= 100 then
		return smallest <= maxSize
	end
	local records = math.max(redis.call('ZCARD', all), 1)
	local matches = records
	for _, size in ipairs(sizes) do
		matches = matches * size / records
	end
	return matches <= 10 * want
end
