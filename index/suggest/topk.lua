-- Shared by the scripts of this package, which are sent with this text in front.
--
-- A term is written form:spelling, where the form is its normalized form and a spelling
-- equal to the form is left out: apple: and apple:Apple. It is a field of the hash
-- content, term -> count, and a member of the sorted set index, term:count. The hash
-- cache, the top-k cache, has a list for each prefix of many terms, with the best of
-- them:
--
--     ap -> 17:apricot: \n ple: \n ple:Apple \n ricot: \n …
--
-- The first line is the threshold, the count and name of a term; every other line is a
-- term without the prefix. INVARIANT: EVERY TERM OF THE PREFIX THAT IS NOT IN THE LIST
-- RANKS BELOW THE THRESHOLD. The threshold is empty if the list is complete. So the
-- members that do not rank below the threshold are the best of the prefix. A count that
-- rises to the threshold adds its term to the list; a count that falls, or a removed
-- term, changes nothing. If too few members rank above the threshold,
-- rebuild_list.lua rebuilds the list.
--
-- Terms have one colon, and no control characters but \31 for an escaped colon, so that
-- \n ends them.

local sub, byte, find = string.sub, string.byte, string.find

local TOP_K = 32         -- members of a new list
local MAX_LIST = 64      -- members above which a list is trimmed to the best
local CACHE_ABOVE = 64   -- terms above which a prefix gets a list
local UNCACHE_AT = 32    -- terms at which it loses its list
local SCAN_LIMIT = 1000  -- terms of a prefix without a list that a script reads

-- less reports whether a term comes before another: by the bytes of their forms, then of
-- their spellings, so that the colon is the least byte. (The operator < uses the locale
-- of the server.) It skips the common prefix in blocks of 16.
local function less(a, b)
	local i, n = 1, math.min(#a, #b)
	while i <= n and sub(a, i, i + 15) == sub(b, i, i + 15) do
		i = i + 16
	end
	for j = i, n do
		local x, y = byte(a, j), byte(b, j)
		if x ~= y then
			return y ~= 58 and (x == 58 or x < y)
		end
	end
	return #a < #b
end

-- outranks reports whether a term ranks above another: the greater count first.
local function outranks(count, term, other, than)
	if count ~= other then
		return count > other
	end
	return less(term, than)
end

-- text formats a count. Only half-lives make fractions.
local function text(count)
	if count % 1 == 0 then
		return string.format('%.0f', count)
	end
	return string.format('%.17g', count)
end

-- countOf parses a count. It returns nil for an invalid one.
local function countOf(value)
	local count = value and find(value, '^%d[%d.]*$') and tonumber(value)
	if count and count > 0 then
		return count
	end
end

-- entry parses a member of the index: term, count, or nil.
local function entry(member)
	local term, value = string.match(member, '^([^:]+:[^:]*):([^:]*)$')
	if term then
		return term, countOf(value)
	end
end

-- from and to are the bounds of the range of a prefix in the index.
local function from(prefix)
	return '[' .. prefix
end
local function to(prefix)
	return '[' .. prefix .. '\255'
end
-- after excludes a member equal to the prefix, which is not a valid entry.
local function after(prefix)
	return '[' .. prefix .. '\0'
end

-- each calls a command with a long list of arguments, 500 at a time. stride is the
-- number of arguments that belong together.
local function each(command, key, list, stride)
	local step = 500 - 500 % (stride or 1)
	for i = 1, #list, step do
		redis.call(command, key, unpack(list, i, math.min(i + step - 1, #list)))
	end
end

-- lookup is HMGET for any number of fields.
local function lookup(key, terms)
	if #terms <= 500 then
		return #terms > 0 and redis.call('HMGET', key, unpack(terms)) or {}
	end
	local all = {}
	for i = 1, #terms, 500 do
		local found = redis.call('HMGET', key, unpack(terms, i, math.min(i + 499, #terms)))
		for j = 1, #found do
			all[i + j - 1] = found[j]
		end
	end
	return all
end

-- insertRanked inserts a term into a sorted list of the best, if it is one of them.
local function insertRanked(best, limit, term, count)
	local n = #best
	if n == limit then
		local last = best[n]
		if not outranks(count, term, last.count, last.term) then
			return
		end
	end
	for i = 1, n do
		if best[i].term == term then
			-- Two entries of one term: the index is damaged. Keep the greater count.
			if not outranks(count, term, best[i].count, term) then
				return
			end
			table.remove(best, i)
			n = n - 1
			break
		end
	end
	if n == limit then
		best[n] = nil
		n = n - 1
	end
	while n > 0 and outranks(count, term, best[n].count, best[n].term) do
		best[n + 1] = best[n]
		n = n - 1
	end
	best[n + 1] = {term = term, count = count}
end

-- parse parses a list. threshold and term are nil if the list is complete; broken is
-- true for an invalid text.
local function parse(list)
	local first = string.match(list, '^([^\n]*)\n')
	if first == '' then
		return {text = list}
	end
	local count, term = string.match(first or '', '^(%d[%d.]*):(.+)$')
	count = tonumber(count)
	if not count or byte(list, -1) ~= 10 then
		return {text = list, broken = true}
	end
	return {text = list, threshold = count, term = term}
end

-- members returns the terms of the list of a prefix.
local function members(list, prefix)
	local terms = {}
	local at = find(list.text, '\n', 1, true)
	for line in string.gmatch(sub(list.text, at + 1), '([^\n]*)\n') do
		terms[#terms + 1] = prefix .. line
	end
	return terms
end

-- belongs reports whether a term of this count must be in a list.
local function belongs(list, term, count)
	return not list.threshold or not outranks(list.threshold, list.term, count, term)
end

-- format returns a list of sorted terms with a threshold, or none if it is complete.
local function format(prefix, best, threshold)
	local lines = {threshold and text(threshold.count) .. ':' .. threshold.term or ''}
	for i, item in ipairs(best) do
		lines[i + 1] = sub(item.term, #prefix + 1)
	end
	return parse(table.concat(lines, '\n') .. '\n')
end

-- trim keeps the best of a full list.
local function trim(content, list, prefix)
	local terms = members(list, prefix)
	local best = {}
	local alive = 0
	for i, value in ipairs(lookup(content, terms)) do
		local count = countOf(value)
		if count then
			alive = alive + 1
			insertRanked(best, TOP_K, terms[i], count)
		end
	end
	local last = best[#best]
	if alive <= TOP_K or list.threshold and outranks(list.threshold, list.term, last.count, last.term) then
		-- No term above the old threshold is left out.
		return format(prefix, best, list.threshold and {term = list.term, count = list.threshold})
	end
	return format(prefix, best, last)
end

-- insert returns a list with a term added, or the same list if it has the term.
local function insert(content, list, prefix, term)
	local line = sub(term, #prefix + 1)
	if find(list.text, '\n' .. line .. '\n', 1, true) then
		return list
	end
	list = {text = list.text .. line .. '\n', threshold = list.threshold, term = list.term}
	local _, lines = string.gsub(list.text, '\n', '\n')
	if lines > MAX_LIST + 1 then
		return trim(content, list, prefix)
	end
	return list
end

-- build returns the list of a prefix, made from all its terms.
local function build(index, prefix)
	local best = {}
	local all = redis.call('ZRANGEBYLEX', index, from(prefix), to(prefix))
	for _, member in ipairs(all) do
		local term, count = entry(member)
		if count then
			insertRanked(best, TOP_K, term, count)
		end
	end
	return format(prefix, best, #all > #best and best[#best])
end

-- listsOf returns the list of every prefix of some terms, false for a prefix without one,
-- and the length of the longest prefix that has one. A broken list counts as none and is
-- marked in dirty.
local function listsOf(cache, terms, dirty)
	local known, wanted, n = {}, {}, 0
	for _, term in ipairs(terms) do
		for l = #term, 0, -1 do
			local prefix = sub(term, 1, l)
			if known[prefix] ~= nil then
				break -- the shorter prefixes are known, too
			end
			known[prefix] = false
			n = n + 1
			wanted[n] = prefix
		end
	end
	local found, longest = lookup(cache, wanted), 0
	for i = 1, n do
		if found[i] then
			local list = parse(found[i])
			if list.broken then
				dirty[wanted[i]] = true
			else
				known[wanted[i]] = list
				longest = math.max(longest, #wanted[i])
			end
		end
	end
	return known, longest
end

-- promote adds a term to the lists that its new count reaches and its old count did not.
-- It returns the shortest prefix without a list, if any.
local function promote(content, known, longest, dirty, change)
	local term, count, was, uncached = change.term, change.count, change.was, nil
	for l = 0, math.min(#term, longest + 1) do
		local prefix = sub(term, 1, l)
		local list = known[prefix]
		if not list then
			uncached = uncached or prefix
		elseif belongs(list, term, count) and not (was and belongs(list, term, was)) then
			local changed = insert(content, list, prefix, term)
			if changed ~= list then
				known[prefix], dirty[prefix] = changed, true
			end
		end
	end
	return uncached
end

-- cachePrefix makes the list of a prefix that has none, if it has many terms. One prefix
-- a change is enough: a prefix of n bytes waits for at most n more terms. A prefix of
-- very many terms has lost its list, and is left to rebuild_list.lua.
local function cachePrefix(index, known, dirty, prefix)
	local n = redis.call('ZLEXCOUNT', index, from(prefix), to(prefix))
	if n > CACHE_ABOVE and n <= SCAN_LIMIT then
		known[prefix], dirty[prefix] = build(index, prefix), true
	end
end

-- uncache deletes the lists of those prefixes of a removed term that have few terms left.
local function uncache(index, known, dirty, term)
	for l = #term, 0, -1 do
		local prefix = sub(term, 1, l)
		if known[prefix] then
			if redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) > UNCACHE_AT then
				return
			end
			known[prefix], dirty[prefix] = false, true
		end
	end
end

-- store applies changes to the index, its content and its cache. A change has term, value
-- (its field in content, or false), was (the count there, or nil) and count (the new
-- count, or nil: remove the term). Each term is in changes once.
local function store(index, content, cache, changes)
	local remove, add, set, delete, terms = {}, {}, {}, {}, {}
	for i, c in ipairs(changes) do
		terms[i] = c.term
		local value = c.count and text(c.count)
		if c.value and c.value ~= value then
			remove[#remove + 1] = c.term .. ':' .. c.value
		end
		if value then
			add[#add + 1] = '0'
			add[#add + 1] = c.term .. ':' .. value
			set[#set + 1] = c.term
			set[#set + 1] = value
		elseif c.value then
			delete[#delete + 1] = c.term
		end
	end
	each('ZREM', index, remove)
	each('ZADD', index, add, 2)
	each('HSET', content, set, 2)
	each('HDEL', content, delete)

	local dirty = {}
	local known, longest = listsOf(cache, terms, dirty)
	for _, c in ipairs(changes) do
		if c.count then
			local uncached = promote(content, known, longest, dirty, c)
			if uncached and not c.was then
				cachePrefix(index, known, dirty, uncached)
				longest = math.max(longest, #uncached)
			end
		elseif c.value then
			uncache(index, known, dirty, c.term)
		end
	end
	set, delete = {}, {}
	for prefix in pairs(dirty) do
		if known[prefix] then
			set[#set + 1] = prefix
			set[#set + 1] = known[prefix].text
		else
			delete[#delete + 1] = prefix
		end
	end
	each('HSET', cache, set, 2)
	each('HDEL', cache, delete)
end

-- changesOf returns a change for each term, with its present state.
local function changesOf(content, terms)
	local changes = {}
	for i, value in ipairs(lookup(content, terms)) do
		changes[i] = {term = terms[i], value = value, was = countOf(value)}
	end
	return changes
end
