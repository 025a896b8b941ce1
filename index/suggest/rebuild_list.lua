-- Rebuilds the cached list of a prefix from the lists of the prefixes one byte longer, or from
-- the terms of prefixes without a list. Preceded by declare.lua, value.lua and topk.lua.
--
-- KEYS[1]  sorted set: the index
-- KEYS[2]  hash: its content
-- KEYS[3]  hash: its top-k cache
-- ARGV[1]  the prefix
--
-- Reply    '', or a longer prefix whose list must be rebuilt first

local prefix = ARGV[1]
local n = redis.call('ZLEXCOUNT', KEYS[1], from(prefix), to(prefix))
if n <= UNCACHE_AT then
	redis.call('HDEL', KEYS[3], prefix)
	return ''
elseif n <= SCAN_LIMIT then
	keep(KEYS[3], prefix, ranked(redis.call('ZRANGEBYLEX', KEYS[1], from(prefix), to(prefix)), prefix))
	return ''
end

local best = {}
local threshold, highest -- the highest threshold, and the prefix whose list has it

-- addList adds the terms of the list of a longer prefix to best.
local function addList(child, list)
	if list.threshold and (not threshold or outranks(list.threshold, list.term, threshold.count, threshold.term)) then
		threshold, highest = {term = list.term, count = list.threshold}, child
	end
	local terms = members(list, child)
	for i, value in ipairs(lookup(KEYS[2], terms)) do
		local count = countOf(value)
		if not count then -- the count was lost, or the term was removed
			local own = terms[i] .. '\t'
			count = select(2, entry(redis.call('ZRANGEBYLEX', KEYS[1], from(own), to(own), 'LIMIT', 0, 1)[1] or ''))
		end
		if count then
			insertRanked(best, TOP_K, terms[i], count)
		end
	end
end

local start = after(prefix)
while true do
	local first = redis.call('ZRANGEBYLEX', KEYS[1], start, to(prefix), 'LIMIT', 0, 1)[1]
	if not first then
		break
	end
	local child = string.sub(first, 1, #prefix + 1)
	local list = redis.call('HGET', KEYS[3], child)
	list = list and parse(list)
	if list and not list.lost then
		addList(child, list)
	else
		local all = redis.call('ZRANGEBYLEX', KEYS[1], from(child), to(child), 'LIMIT', 0, CACHE_ABOVE + 1)
		if #all > CACHE_ABOVE then -- the list of child was lost
			return child
		end
		for _, member in ipairs(all) do
			local term, count = entry(member)
			if count then
				insertRanked(best, TOP_K, term, count)
			end
		end
	end
	start = to(child)
end

-- Terms below the highest threshold may be missing.
local last = best[#best]
if threshold and (#best < TOP_K or outranks(threshold.count, threshold.term, last.count, last.term)) then
	return highest
end
keep(KEYS[3], prefix, format(prefix, best, #best == TOP_K and last))
return ''
