-- Finds and removes orphans: entries that their records do not have.
--
-- KEYS 1 meta, 2 content, 3 the key with the entries, 4 the directory of values for s,
--      otherwise 3 again, then the record of each entry, or for d the set of each value
-- ARGV 1 verify: change nothing; repair; or any: repair, even if an existing record has no
--        content because it is not indexed yet
--      2 stamp of the declaration
--      3 kind of the key: z sorted set, s set of a value, d directory of values, u unique
--        index, a all, e expires
--      4 number of the index
--      then id and value of each entry; for an unreadable entry, the id is empty and the value
--      is the member
-- Reply SCHEMA, or the numbers of the wrong entries, from 1

local meta, content, place, directory = unpack(KEYS, 1, 4)
local mode, stamp, kind, number = unpack(ARGV, 1, 4)

if not writable(meta, stamp) then
	return 'SCHEMA'
end

local function exists(id, value)
	if kind == 'u' then
		return redis.call('HGET', place, value) == id
	end
	return redis.call('ZSCORE', place, kind == 's' and id or value .. id)
end

local function correct(i, id, value)
	if kind == 'd' then
		return redis.call('EXISTS', KEYS[4 + i]) == 1
	end
	local packed = id ~= '' and redis.call('HGET', content, id)
	if not packed then
		return mode ~= 'any' and id ~= '' and redis.call('EXISTS', KEYS[4 + i]) == 1
	end
	if kind == 'a' or kind == 'e' then
		return true
	end
	return has(unpacked(packed), tonumber(number), value)
end

local wrong = {}
for i = 1, #KEYS - 4 do
	local id, value = ARGV[3 + 2 * i], ARGV[4 + 2 * i]
	if exists(id, value) and not correct(i, id, value) then
		wrong[#wrong + 1] = i
		if mode ~= 'verify' and kind == 'u' then
			redis.call('HDEL', place, value)
		elseif mode ~= 'verify' and kind == 's' then
			redis.call('ZREM', place, id)
			if redis.call('EXISTS', place) == 0 then
				redis.call('ZREM', directory, value)
			end
		elseif mode ~= 'verify' then
			redis.call('ZREM', place, value .. id)
		end
	end
end
return wrong
