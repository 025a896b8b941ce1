-- Puts a declaration into force in a partition, for Migrate: writers with another one
-- are refused from here on, so the indexes that they would maintain are no longer
-- reliable. Sorted sets to build start empty.
--
-- KEYS 1 meta, then the sorted sets of the indexes
-- ARGV 1 digest, 2 schema, 3 a name for the migration, then the identity of each index,
--      and how many of the keys it has: 1, or 0 for a unique one or one with a set for
--      each value, whose entries stay
-- Reply the name of the migration, which another Migrate may have begun; nothing: there
-- is nothing to do

local meta = KEYS[1]
local digest, schema, name = unpack(ARGV, 1, 3)
local found = redis.call('HMGET', meta, 'digest', 'walk')
local walk = found[2]
if found[1] == digest and walk ~= 'to begin' then
	return walk or ''
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
redis.call('HDEL', meta, 'also', 'wanted', 'wanteddigest')
return name
