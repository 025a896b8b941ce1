-- Publishes the declaration of a model, and returns the names of its indexes.
--
-- KEYS 1 meta, then keys that exist only if there are records: all, and the counter or a unique
--      hash of keys that are older than the model
-- ARGV 1 digest
--      2 schema
--      3 its fixed part
--      4 token of the numbers of the indexes, used if there is no meta
--      5 follow if the token is the token of another partition, or empty
--      6 number of indexes with given numbers, then for each its identity, and its number and
--        name
--      then for each index its name and its identity
-- Reply an error: SCHEMA and the published fixed part; DROPPING; or OTHER and the names
--      of the fields of the stored records, if the declaration has none of these fields.
--      Otherwise the digest in force, the token of the numbers, then for each index its number,
--      its name in the key, and 1 if it is built
--
-- An index keeps its number and key even if no declaration has it any longer, since a program
-- may still declare the index.
--
-- Existing values are not written again, so that programs can read from a read-only server.

local meta = KEYS[1]
local digest, schema, fixed, token, follow = unpack(ARGV, 1, 5)
local given = tonumber(ARGV[6])
local first = 7 + 2 * given

local found = redis.call('HMGET', meta, 'digest', 'fixed', 'schema')
if found[2] and found[2] ~= fixed then
	return redis.error_reply('SCHEMA ' .. found[2])
end
if found[1] == 'dropping' then
	return redis.error_reply('DROPPING')
end

local function put(field, value)
	if redis.call('HGET', meta, field) ~= value then
		redis.call('HSET', meta, field, value)
	end
end

-- kindsOf returns the kinds of the stored fields of a schema by name.
local function kindsOf(text)
	local kinds = {}
	local ok, s = pcall(cjson.decode, text)
	for _, f in ipairs(ok and type(s.fields) == 'table' and s.fields or {}) do
		if not f.computed then
			kinds[f.name] = f.kind .. (f.element or '')
		end
	end
	return kinds
end

local oldKinds = kindsOf(found[3] or '{}')
local newKinds = kindsOf(schema)
local shared, changed, names = false, false, {}
for name, kind in pairs(oldKinds) do
	shared = shared or newKinds[name]
	changed = changed or newKinds[name] and newKinds[name] ~= kind
	names[#names + 1] = name
end
if #names > 0 and next(newKinds) and not shared and redis.call('EXISTS', KEYS[2]) == 1 then
	table.sort(names)
	return redis.error_reply('OTHER ' .. table.concat(names, ', ', 1, math.min(#names, 5)))
end

local fresh = not found[1]
local built = true
local identities = {}
for i = first + 1, #ARGV, 2 do
	identities[#identities + 1] = ARGV[i]
end
if fresh then
	for i = 2, #KEYS do
		built = built and redis.call('EXISTS', KEYS[i]) == 0
	end
	redis.call('HSET', meta, 'digest', digest, 'schema', schema, 'fixed', fixed,
		'identities', table.concat(identities, '\n'))
	if not built then
		redis.call('HSET', meta, 'walk', 'to begin', 'older', 1) -- see migrate.go
	end
end
if (fresh or follow ~= '') and token ~= '' then
	put('token', token)
end
local last = tonumber(redis.call('HGET', meta, 'last') or 0)
for i = 7, first - 1, 2 do
	if redis.call('HEXISTS', meta, 'index:' .. ARGV[i]) == 0 then
		redis.call('HSET', meta, 'index:' .. ARGV[i], ARGV[i + 1])
		if built and fresh then
			redis.call('HSET', meta, 'built:' .. ARGV[i], 1)
		end
	end
	last = math.max(last, tonumber(ARGV[i + 1]:match('^%d+')))
end
if last > 0 then
	put('last', string.format('%.0f', last))
end

-- If the name of an index is in use, its number is appended.
local names = {}
local all = redis.call('HGETALL', meta)
for i = 1, #all, 2 do
	if all[i]:sub(1, 6) == 'index:' then
		names[all[i + 1]:match('^%d+ (.*)$')] = true
	end
end

local reply = { redis.call('HGET', meta, 'digest'), redis.call('HGET', meta, 'token') or '' }
local wanted = {}
for i = first, #ARGV, 2 do
	local name, identity = ARGV[i], ARGV[i + 1]
	wanted[identity] = true
	local entry = redis.call('HGET', meta, 'index:' .. identity)
	if not entry then
		local number = redis.call('HINCRBY', meta, 'last', 1)
		entry = number .. ' ' .. (names[name] and name .. '.' .. number or name)
		names[entry:match('^%d+ (.*)$')] = true
		redis.call('HSET', meta, 'index:' .. identity, entry)
		if fresh and built then
			redis.call('HSET', meta, 'built:' .. identity, 1)
		end
	end
	local number, key = entry:match('^(%d+) (.*)$')
	reply[#reply + 1] = number
	reply[#reply + 1] = key
	reply[#reply + 1] = tostring(redis.call('HEXISTS', meta, 'built:' .. identity))
end

-- If other indexes are in force, the declaration waits for a migration. Until then its programs
-- may write if the declaration has all indexes in force. New fields, sets and lists need no
-- migration; a changed kind of a field does, because records must be changed.
if reply[1] == digest then
	if not changed then
		put('schema', schema)
	end
else
	local complete = true
	for identity in redis.call('HGET', meta, 'identities'):gmatch('[^\n]+') do
		complete = complete and wanted[identity]
	end
	put('wanted', schema)
	put('wanteddigest', digest)
	if complete then
		put('also', digest)
	end
end
return reply
