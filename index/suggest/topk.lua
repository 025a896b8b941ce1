-- The top-k cache. Shared by the scripts of this package, after value.lua.
--
-- The hash cache has a list of the best terms for each prefix with many terms:
--
--     ap -> 17 \t apricot \n ple \n ricot \n …
--
-- The first line is the threshold: the count and name of a term. Every other line is a term
-- without the prefix. INVARIANT: EVERY TERM OF THE PREFIX THAT IS NOT IN THE LIST RANKS BELOW
-- THE THRESHOLD. The threshold is empty if the list is complete. So the members that do not
-- rank below the threshold are the best terms of the prefix. If a count rises to the threshold, its
-- term is added to the list; if a count falls, or a term is removed, the list does not change.
-- If too few members rank above the threshold, rebuild_list.lua rebuilds the list.
--
-- If a prefix has a list, each of its shorter prefixes has a list, too. A writer that finds no
-- list can therefore skip the longer prefixes. A lost or unreadable list is replaced by a question
-- mark until a completion rebuilds the list: see keep.

local TOP_K = 32         -- members of a new list
local MAX_LIST = 64      -- members above which a list is trimmed to the best
local CACHE_ABOVE = 64   -- terms above which a prefix gets a list
local UNCACHE_AT = 32    -- terms at which a prefix loses its list
local SCAN_LIMIT = 1000  -- maximum terms read for a prefix without a list
local FEW = 8            -- maximum changes whose prefixes are looked up at once
local CHECK_EVERY = 16   -- one in this many new terms checks whether a prefix needs a list

-- outranks reports whether a term ranks above another: by count, then by name.
local function outranks(count, term, otherCount, otherTerm, common)
	if count ~= otherCount then
		return count > otherCount
	end
	return less(term, otherTerm, common)
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

-- each calls a command with a long list of arguments, 500 at a time. Groups of stride arguments
-- are not split.
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

-- insertRanked inserts a term into a sorted list of the best terms, if it ranks high enough. The
-- field ranks of the list maps its terms to counts.
local function insertRanked(best, limit, term, count)
	local n = #best
	if n == limit then
		local last = best[n]
		if not outranks(count, term, last.count, last.term) then
			return
		end
	end
	local ranks = best.ranks or {}
	if ranks[term] then
		-- Two entries of one term: the index is damaged. Keep the larger count.
		if ranks[term] >= count then
			return
		end
		for i = 1, n do
			if best[i].term == term then
				table.remove(best, i)
				break
			end
		end
	elseif n == limit then
		ranks[best[n].term] = nil
		best[n] = nil
	end
	local low, high = 1, #best + 1
	while low < high do
		local middle = math.floor((low + high) / 2)
		local other = best[middle]
		if outranks(count, term, other.count, other.term) then
			high = middle
		else
			low = middle + 1
		end
	end
	table.insert(best, low, {term = term, count = count})
	ranks[term], best.ranks = count, ranks
end

-- parse parses the list of a prefix of the given length. threshold and term are nil if the list
-- is complete; lost is true if the text is not a list.
local function parse(list, length)
	local first = match(list, '^([^\n]*)\n')
	if first == '' then
		return {text = list, length = length}
	end
	local count, term = match(first or '', '^(%d[%d.]*)\t(.+)$')
	count = tonumber(count)
	if not count or byte(list, -1) ~= 10 then
		return {text = list, lost = true}
	end
	return {text = list, length = length, threshold = count, term = term}
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

-- belongs reports whether a term with a count must be in the list of one of its prefixes.
local function belongs(list, term, count)
	return not list.threshold or not outranks(list.threshold, list.term, count, term, list.length)
end

-- format builds a list from sorted terms and a threshold, which is nil if the list is complete.
local function format(prefix, best, threshold)
	local lines = {threshold and text(threshold.count) .. '\t' .. threshold.term or ''}
	for i, item in ipairs(best) do
		lines[i + 1] = sub(item.term, #prefix + 1)
	end
	return parse(table.concat(lines, '\n') .. '\n', #prefix)
end

-- trim reduces a full list to its best terms.
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
		-- No term above the old threshold is dropped.
		return format(prefix, best, list.threshold and {term = list.term, count = list.threshold})
	end
	return format(prefix, best, last)
end

-- insert returns a list with a term added, or the same list if it contains the term.
local function insert(content, list, prefix, term)
	local line = sub(term, #prefix + 1)
	if find(list.text, '\n' .. line .. '\n', 1, true) then
		return list
	end
	if not list.lines then
		local _, lines = string.gsub(list.text, '[^\n]*\n', '')
		list.lines = lines
	end
	list = {
		text = list.text .. line .. '\n', length = list.length, lines = list.lines + 1,
		threshold = list.threshold, term = list.term,
	}
	if list.lines > MAX_LIST + 1 then
		return trim(content, list, prefix)
	end
	return list
end

-- ranked builds the list of a prefix from the entries of all its terms.
local function ranked(all, prefix)
	local best = {}
	for _, member in ipairs(all) do
		local term, count = entry(member)
		if count then
			insertRanked(best, TOP_K, term, count)
		end
	end
	return format(prefix, best, #all > #best and best[#best])
end

-- keep stores the list of a prefix. Shorter prefixes without a list are marked as lost, and the
-- next completion rebuilds their lists. call defaults to redis.call.
local function keep(cache, prefix, list, call)
	call = call or redis.call
	if prefix ~= '' and redis.call('HEXISTS', cache, sub(prefix, 1, -2)) == 0 then
		for l = #prefix - 1, 0, -1 do
			call('HSETNX', cache, sub(prefix, 1, l), '?')
		end
	end
	call('HSET', cache, prefix, list.text)
end

-- payloadsOf returns the values of entries, or {} in an index without payloads.
local function payloadsOf(content, meta, entries)
	if #entries == 0 or redis.call('HEXISTS', meta, 'payloads') == 0 then
		return {}
	end
	local terms = {}
	for i, member in ipairs(entries) do
		terms[i] = entry(member) or member
	end
	return lookup(content, terms)
end

-- listsOf returns the list of every prefix of the terms of changes, or false for a prefix
-- without a list. In each change it sets uncached, the shortest prefix without a list. It looks
-- up all prefixes at once.
local function listsOf(cache, changes)
	local known, wanted, n = {}, {}, 0
	for _, c in ipairs(changes) do
		for l = #c.term, 0, -1 do
			local prefix = sub(c.term, 1, l)
			if known[prefix] ~= nil then
				break -- the shorter prefixes are known, too
			end
			known[prefix] = false
			n = n + 1
			wanted[n] = prefix
		end
	end
	for i, list in ipairs(lookup(cache, wanted)) do
		known[wanted[i]] = list and parse(list, #wanted[i])
	end
	for _, c in ipairs(changes) do
		for l = #c.term, 0, -1 do
			local prefix = sub(c.term, 1, l)
			if not known[prefix] then
				c.uncached = prefix
			end
		end
	end
	return known
end

-- listsByByte is listsOf for many changes: it looks up the next longer prefix only for terms
-- whose shorter prefix has a list. Consecutive changes that share a prefix form a run, so
-- sorted changes cost least. It also sets least, the list with the lowest threshold, or nil if
-- unknown.
local function listsByByte(cache, changes)
	local known, l = {}, 0
	-- A run has the changes first to last. least is the list with the lowest threshold of the
	-- shorter prefixes of the run.
	local runs, first, last, least = 1, {1}, {#changes}, {}
	while runs > 0 do
		local prefixes, wanted, n = {}, {}, 0
		for r = 1, runs do
			local prefix = sub(changes[first[r]].term, 1, l)
			prefixes[r] = prefix
			if known[prefix] == nil then
				known[prefix] = false
				n = n + 1
				wanted[n] = prefix
			end
		end
		for i, text in ipairs(lookup(cache, wanted)) do
			known[wanted[i]] = text and parse(text, l)
		end
		local m, firsts, lasts, leasts = 0, {}, {}, {}
		for r = 1, runs do
			local prefix, lowest = prefixes[r], least[r]
			local list = known[prefix]
			local current
			if list and not list.lost and not (lowest and list.threshold and belongs(lowest, list.term, list.threshold)) then
				lowest = list
			end
			for i = first[r], last[r] do
				local c = changes[i]
				local next = list and byte(c.term, l + 1)
				if not next then
					-- There is no list, or the prefix is the complete term.
					c.least, c.uncached = lowest, not list and prefix
					current = nil
				elseif next == current then
					lasts[m] = i
				else
					m, current = m + 1, next
					firsts[m], lasts[m], leasts[m] = i, i, lowest
				end
			end
		end
		runs, first, last, least, l = m, firsts, lasts, leasts, l + 1
	end
	return known
end

-- promote adds a term to the lists in which the term belongs with its new count, but not with
-- its old count.
local function promote(content, known, dirty, c)
	local term, count, was = c.term, c.count, c.was
	for l = 0, #term do
		local prefix = sub(term, 1, l)
		local list = known[prefix]
		if list == nil then
			return -- none of the longer prefixes has a list
		elseif list and not list.lost and belongs(list, term, count) and not (was and belongs(list, term, was)) then
			local changed = insert(content, list, prefix, term)
			if changed ~= list then
				known[prefix], dirty[prefix] = changed, true
			end
		end
	end
end

-- cachePrefixes builds missing lists of prefixes of a new term, if the prefixes have many terms. It
-- builds up to 8, so that a long prefix shared by all terms soon has its list. If a prefix has
-- very many terms, its list was lost, and rebuild_list.lua rebuilds it.
local function cachePrefixes(index, known, dirty, c)
	for l = #c.uncached, math.min(#c.uncached + 7, #c.term) do
		local prefix = sub(c.term, 1, l)
		if not known[prefix] then
			local n = redis.call('ZLEXCOUNT', index, from(prefix), to(prefix))
			if n <= CACHE_ABOVE or n > SCAN_LIMIT then
				return
			end
			known[prefix], dirty[prefix] = ranked(redis.call('ZRANGEBYLEX', index, from(prefix), to(prefix)), prefix), true
		end
	end
end

-- uncache deletes the lists of prefixes of a removed term that have few terms left.
local function uncache(index, known, dirty, c)
	for l = #c.term, 0, -1 do
		local prefix = sub(c.term, 1, l)
		if known[prefix] then
			if redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) > UNCACHE_AT then
				return
			end
			known[prefix], dirty[prefix] = false, true
		end
	end
end

-- write writes changes to the index and its content.
local function write(index, content, changes)
	local remove, add, set, delete = {}, {}, {}, {}
	local a = 0
	for _, c in ipairs(changes) do
		local head = c.text and headOf(c.text)
		local old = c.value and headOf(c.value)
		if old and old ~= head then
			remove[#remove + 1] = c.term .. '\t' .. old
		end
		if head then
			add[a + 1] = '0'
			add[a + 2] = c.term .. '\t' .. head
			set[a + 1] = c.term
			set[a + 2] = c.text
			a = a + 2
		elseif c.value then
			delete[#delete + 1] = c.term
		end
	end
	each('ZREM', index, remove)
	each('ZADD', index, add, 2)
	each('HSET', content, set, 2)
	each('HDEL', content, delete)
end

-- store applies changes to the index, its content and its cache. A change has the fields term,
-- value (from content, or false), was (the old count, or nil), count (the new count; nil:
-- remove the term) and text (the new value). Each term occurs once.
local function store(index, content, cache, changes)
	if #changes == 0 then
		return
	end
	write(index, content, changes)
	local dirty = {}
	local known = (#changes > FEW and listsByByte or listsOf)(cache, changes)
	local new = redis.call('TIME')[2] % CHECK_EVERY
	for _, c in ipairs(changes) do
		if c.count then
			if not c.least or belongs(c.least, c.term, c.count) then
				promote(content, known, dirty, c)
			end
			if c.uncached and not c.was then
				new = new + 1
				if new % CHECK_EVERY == 0 then
					cachePrefixes(index, known, dirty, c)
				end
			end
		elseif c.value then
			uncache(index, known, dirty, c)
		end
	end
	local set, delete = {}, {}
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

-- changesOf returns a change for each term, with its current state. It sets all fields, so that
-- no table needs to grow later.
local function changesOf(content, terms)
	local changes = {}
	for i, value in ipairs(lookup(content, terms)) do
		changes[i] = {term = terms[i], value = value, was = countOf(value), count = nil, text = nil, least = nil, uncached = nil}
	end
	return changes
end
