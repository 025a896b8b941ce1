-- Puts a declaration into force in a partition, for Migrate. From now on writers with another
-- declaration are refused, so indexes that only these writers maintain are no longer reliable.
-- If indexes are only dropped, writers with the previous declaration maintain all remaining
-- indexes, and may continue until the next Migrate, which removes their entries from the
-- dropped indexes. Sorted sets to build start empty.
--
-- KEYS 1 meta, then the sorted sets of the indexes
-- ARGV 1 digest, 2 schema, 3 a name for the migration, then for each index its identity and its
--      number of KEYS: 1, or 0 for a unique index or an index with a set per value, whose
--      entries are kept
-- Reply the name of the migration, which another Migrate may have started, or empty if there is
-- nothing to do

local meta = KEYS[1]
local digest, schema, name = unpack(ARGV, 1, 3)
local found = redis.call('HMGET', meta, 'digest', 'walk', 'identities', 'schema', 'dropped')
local walk = found[2]
if found[1] == digest and walk ~= 'to begin' and (walk or not found[5]) then
	redis.call('HSET', meta, 'schema', schema) -- the kind of a field may have changed
	return walk or ''
end

-- mayContinue reports whether writers with the previous declaration may continue: the previous
-- declaration must have all indexes of the new one, and the same expires field.
local function mayContinue(identities)
	if not found[1] or found[1] == digest or not found[3] or not found[4] then
		return false
	end
	local previous = {}
	for identity in found[3]:gmatch('[^\n]+') do
		previous[identity] = true
	end
	for _, identity in ipairs(identities) do
		if not previous[identity] then
			return false
		end
	end
	local ok, same = pcall(function()
		return cjson.decode(found[4]).expires == cjson.decode(schema).expires
	end)
	return ok and same
end

if walk == 'to begin' then
	redis.call('HSET', meta, 'older', 1) -- there may be records that no model wrote
end

local declared, identities = {}, {}
local key = 2
for i = 4, #ARGV, 2 do
	declared['built:' .. ARGV[i]] = true
	identities[#identities + 1] = ARGV[i]
	if ARGV[i + 1] == '1' then
		if redis.call('HEXISTS', meta, 'built:' .. ARGV[i]) == 0 then
			redis.call('UNLINK', KEYS[key])
		end
		key = key + 1
	end
end
for _, field in ipairs(redis.call('HKEYS', meta)) do
	if field:sub(1, 6) == 'built:' and not declared[field] then
		redis.call('HDEL', meta, field)
	end
end
redis.call('HSET', meta, 'digest', digest, 'schema', schema, 'walk', name,
	'identities', table.concat(identities, '\n'))
redis.call('HDEL', meta, 'also', 'wanted', 'wanteddigest', 'dropped')
if mayContinue(identities) then
	redis.call('HSET', meta, 'also', found[1], 'dropped', 1)
end
return name
