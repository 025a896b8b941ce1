-- Shared by the scripts of this package, which are sent with this text in front.
--
-- A term is known by its key, form:spelling, where the form is what it is found by
-- and a spelling that is the same is left out: apple: and apple:Apple. It is a field
-- of the hash content, key -> count, and a member of the sorted set index, key:count.
-- The hash heads holds for each prefix of a key that many terms have the head of it:
-- keys of terms, among which are the best. In these scripts a name is a key.
--
--     ap -> 17:apricot: \n ple: \n ple:Apple \n ricot: \n …
--
-- Each line but the first is a key without the prefix. The first is the floor,
-- the count and key of a term: EVERY TERM OF THE PREFIX THAT IS NOT IN THE HEAD
-- RANKS BEHIND THE FLOOR. It is empty where none is missing. So the members that
-- do not rank behind the floor are the best of the prefix, whatever else is
-- there; a count that rises above the floor has to put its term into the head;
-- and one that falls, or a term that goes, asks for nothing. Where too few good
-- members are left, mend.lua makes the head anew.
--
-- Keys have no control characters but \31, for a colon, so that \n ends them, and
-- one colon.

local sub, byte, find = string.sub, string.byte, string.find

local KEEP = 32   -- members of a new head: so many completions can be asked for
local FULL = 64   -- members at which a head is cut down to the best
local MANY = 64   -- terms above which a prefix gets a head
local FEW = 32    -- terms below which it loses it
local LIGHT = 1000 -- terms that are read to the last where there is no head

-- before tells the order of two names: by the bytes of their forms, then of their
-- spellings, so that the colon comes before all else. The operator < goes by the
-- locale of the server. What names have in common is passed over in pieces.
local function before(a, b)
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

-- ahead tells whether a term ranks ahead of another: the greater count first.
local function ahead(count, name, other, than)
	if count ~= other then
		return count > other
	end
	return before(name, than)
end

-- A count as text. Only half-lives make counts that are not whole.
local function text(count)
	if count % 1 == 0 then
		return string.format('%.0f', count)
	end
	return string.format('%.17g', count)
end

-- countOf reads the value of a term, its count, or nil if it is none.
local function countOf(value)
	local count = value and find(value, '^%d[%d.]*$') and tonumber(value)
	if count and count > 0 then
		return count
	end
end

-- entry takes a member of the index apart: name, count, or nil.
local function entry(member)
	local name, value = string.match(member, '^([^:]+:[^:]*):([^:]*)$')
	if name then
		return name, countOf(value)
	end
end

-- A range of the index: every member whose name begins with a prefix.
local function from(prefix)
	return '[' .. prefix
end
local function to(prefix)
	return '[' .. prefix .. '\255'
end
-- behind passes over a member that is the prefix and no more, which is no entry.
local function behind(prefix)
	return '[' .. prefix .. '\0'
end

-- each calls redis with many arguments, some hundreds at a time. stride is how
-- many belong together.
local function each(command, key, list, stride)
	local step = 500 - 500 % (stride or 1)
	for i = 1, #list, step do
		redis.call(command, key, unpack(list, i, math.min(i + step - 1, #list)))
	end
end

-- lookup is HMGET of any number of fields.
local function lookup(key, names)
	if #names <= 500 then
		return #names > 0 and redis.call('HMGET', key, unpack(names)) or {}
	end
	local all = {}
	for i = 1, #names, 500 do
		local found = redis.call('HMGET', key, unpack(names, i, math.min(i + 499, #names)))
		for j = 1, #found do
			all[i + j - 1] = found[j]
		end
	end
	return all
end

-- offer puts a term into a list of the best, in order, if it is one of them.
local function offer(best, limit, name, count)
	local n = #best
	if n == limit then
		local last = best[n]
		if not ahead(count, name, last.count, last.name) then
			return
		end
	end
	for i = 1, n do
		if best[i].name == name then
			-- Somebody has left an old entry of the term beside the new one.
			if not ahead(count, name, best[i].count, name) then
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
	while n > 0 and ahead(count, name, best[n].count, best[n].name) do
		best[n + 1] = best[n]
		n = n - 1
	end
	best[n + 1] = {name = name, count = count}
end

-- parse reads a head. floor is nil where no term is missing, broken is true
-- where the text is not that of a head.
local function parse(head)
	local first = string.match(head, '^([^\n]*)\n')
	if first == '' then
		return {text = head}
	end
	local count, name = string.match(first or '', '^(%d[%d.]*):(.+)$')
	count = tonumber(count)
	if not count or byte(head, -1) ~= 10 then
		return {text = head, broken = true}
	end
	return {text = head, floor = count, name = name}
end

-- members returns the names in a head of a prefix.
local function members(head, prefix)
	local names = {}
	local at = find(head.text, '\n', 1, true)
	for line in string.gmatch(sub(head.text, at + 1), '([^\n]*)\n') do
		names[#names + 1] = prefix .. line
	end
	return names
end

-- reaches tells whether a term that ranks so has to be in the head.
local function reaches(head, name, count)
	return not head.floor or not ahead(head.floor, head.name, count, name)
end

-- write makes a head of terms in order; floor is the last of them, or another.
local function write(prefix, best, floor)
	local lines = {floor and text(floor.count) .. ':' .. floor.name or ''}
	for i, term in ipairs(best) do
		lines[i + 1] = sub(term.name, #prefix + 1)
	end
	return parse(table.concat(lines, '\n') .. '\n')
end

-- cut keeps the best of a head that is full.
local function cut(content, head, prefix)
	local names = members(head, prefix)
	local best = {}
	local alive = 0
	for i, value in ipairs(lookup(content, names)) do
		local count = countOf(value)
		if count then
			alive = alive + 1
			offer(best, KEEP, names[i], count)
		end
	end
	local last = best[#best]
	if alive <= KEEP or head.floor and ahead(head.floor, head.name, last.count, last.name) then
		-- None is left out that ranks ahead of the old floor.
		return write(prefix, best, head.floor and {name = head.name, count = head.floor})
	end
	return write(prefix, best, last)
end

-- insert puts a term into a head, unless it is there. It returns the head.
local function insert(content, head, prefix, name)
	local line = sub(name, #prefix + 1)
	if find(head.text, '\n' .. line .. '\n', 1, true) then
		return head
	end
	head = {text = head.text .. line .. '\n', floor = head.floor, name = head.name}
	local _, lines = string.gsub(head.text, '\n', '\n')
	if lines > FULL + 1 then
		return cut(content, head, prefix)
	end
	return head
end

-- collect makes a head of a prefix from its terms, all of which it reads.
local function collect(index, prefix)
	local best = {}
	local all = redis.call('ZRANGEBYLEX', index, from(prefix), to(prefix))
	for _, member in ipairs(all) do
		local name, count = entry(member)
		if count then
			offer(best, KEEP, name, count)
		end
	end
	return write(prefix, best, #all > #best and best[#best])
end

-- headsOf returns the heads of every prefix of some names, false where there is
-- none, and marks in dirty what is broken and so is taken for none.
local function headsOf(heads, names, dirty)
	local known, wanted, n = {}, {}, 0
	for _, name in ipairs(names) do
		for l = #name, 0, -1 do
			local prefix = sub(name, 1, l)
			if known[prefix] ~= nil then
				break -- and so are those that are shorter
			end
			known[prefix] = false
			n = n + 1
			wanted[n] = prefix
		end
	end
	local found, longest = lookup(heads, wanted), 0
	for i = 1, n do
		if found[i] then
			local head = parse(found[i])
			if head.broken then
				dirty[wanted[i]] = true
			else
				known[wanted[i]] = head
				longest = math.max(longest, #wanted[i])
			end
		end
	end
	return known, longest
end

-- raise puts a term into the heads of its prefixes that it has reached and was
-- not in before. It returns the shortest prefix that has no head, if any.
local function raise(content, known, longest, dirty, change)
	local name, count, was, bare = change.name, change.count, change.was, nil
	for l = 0, math.min(#name, longest + 1) do
		local prefix = sub(name, 1, l)
		local head = known[prefix]
		if not head then
			bare = bare or prefix
		elseif reaches(head, name, count) and not (was and reaches(head, name, was)) then
			local changed = insert(content, head, prefix, name)
			if changed ~= head then
				known[prefix], dirty[prefix] = changed, true
			end
		end
	end
	return bare
end

-- grow gives a head to the shortest prefix of a new term that has none, if many
-- terms have it. One at a time is enough: a prefix of n bytes waits for n more
-- terms at most. A prefix that has far too many was robbed of its head, and is
-- left to mend.lua.
local function grow(index, known, dirty, prefix)
	local n = redis.call('ZLEXCOUNT', index, from(prefix), to(prefix))
	if n > MANY and n <= LIGHT then
		known[prefix], dirty[prefix] = collect(index, prefix), true
	end
end

-- shrink takes the heads from the prefixes of a term that has gone, where few
-- have them.
local function shrink(index, known, dirty, name)
	for l = #name, 0, -1 do
		local prefix = sub(name, 1, l)
		if known[prefix] then
			if redis.call('ZLEXCOUNT', index, from(prefix), to(prefix)) > FEW then
				return
			end
			known[prefix], dirty[prefix] = false, true
		end
	end
end

-- store brings terms into the state they are to have, with all that hangs on
-- them. Each change has name, value (what content says now, or false), was (the
-- count there, or nil) and count (the new one, or nil: the term goes).
-- A name is in changes once.
local function store(index, content, heads, changes)
	local remove, add, set, delete, names = {}, {}, {}, {}, {}
	for i, c in ipairs(changes) do
		names[i] = c.name
		local value = c.count and text(c.count)
		if c.value and c.value ~= value then
			remove[#remove + 1] = c.name .. ':' .. c.value
		end
		if value then
			add[#add + 1] = '0'
			add[#add + 1] = c.name .. ':' .. value
			set[#set + 1] = c.name
			set[#set + 1] = value
		elseif c.value then
			delete[#delete + 1] = c.name
		end
	end
	each('ZREM', index, remove)
	each('ZADD', index, add, 2)
	each('HSET', content, set, 2)
	each('HDEL', content, delete)

	local dirty = {}
	local known, longest = headsOf(heads, names, dirty)
	for _, c in ipairs(changes) do
		if c.count then
			local bare = raise(content, known, longest, dirty, c)
			if bare and not c.was then
				grow(index, known, dirty, bare)
				longest = math.max(longest, #bare)
			end
		elseif c.value then
			shrink(index, known, dirty, c.name)
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
	each('HSET', heads, set, 2)
	each('HDEL', heads, delete)
end

-- changesOf returns a change for each name, filled in with what there is.
local function changesOf(content, names)
	local changes = {}
	for i, value in ipairs(lookup(content, names)) do
		changes[i] = {name = names[i], value = value, was = countOf(value)}
	end
	return changes
end
