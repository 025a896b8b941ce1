-- Makes the head of a prefix anew, from the heads of what is one byte longer, and
-- from the terms of those that have none. Preceded by declare.lua and heads.lua.
--
-- KEYS[1]  sorted set: the index
-- KEYS[2]  hash: its content
-- KEYS[3]  hash: its heads
-- ARGV[1]  the prefix
--
-- Reply    '', or a longer prefix whose head must be mended first

local prefix = ARGV[1]
local n = redis.call('ZLEXCOUNT', KEYS[1], from(prefix), to(prefix))
if n <= FEW then
	redis.call('HDEL', KEYS[3], prefix)
	return ''
elseif n <= LIGHT then
	redis.call('HSET', KEYS[3], prefix, collect(KEYS[1], prefix).text)
	return ''
end

local best = {}
local floor, lowest -- the best of the floors, and whose that is

local function headed(child, head)
	if head.floor and (not floor or ahead(head.floor, head.name, floor.count, floor.name)) then
		floor, lowest = {name = head.name, count = head.floor}, child
	end
	local names = members(head, child)
	for i, value in ipairs(lookup(KEYS[2], names)) do
		local count = countOf(value)
		if count then
			offer(best, KEEP, names[i], count)
		end
	end
end

local at = behind(prefix)
while true do
	local first = redis.call('ZRANGEBYLEX', KEYS[1], at, to(prefix), 'LIMIT', 0, 1)[1]
	if not first then
		break
	end
	local child = string.sub(first, 1, #prefix + 1)
	local head = redis.call('HGET', KEYS[3], child)
	head = head and parse(head)
	if head and not head.broken then
		headed(child, head)
	else
		local all = redis.call('ZRANGEBYLEX', KEYS[1], from(child), to(child), 'LIMIT', 0, MANY + 1)
		if #all > MANY then -- it was robbed of its head, as others may have been
			return child
		end
		for _, member in ipairs(all) do
			local name, count = entry(member)
			if count then
				offer(best, KEEP, name, count)
			end
		end
	end
	at = to(child)
end

-- Behind the best floor there may be terms that nobody has told of.
local last = best[#best]
if floor and (#best < KEEP or ahead(floor.count, floor.name, last.count, last.name)) then
	return lowest
end
redis.call('HSET', KEYS[3], prefix, write(prefix, best, #best == KEEP and last).text)
return ''
