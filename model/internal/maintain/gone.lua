-- Removes what is left of a record that does not exist.
--
-- KEYS 1 record, 2 content, 3 all, 4 meta, 5 expires, 6 voids, then the indexes, then the sets and lists of the record, then sets of values (see setsOf)
-- ARGV 1 verify: changes nothing, or repair, 2 id, 3 stamp of the declaration, 4 numbers of
--      the indexes, 5 how many sets and lists, 6 which keys are sets of values
-- Reply SCHEMA; CONFLICT: the record exists; OK: there is nothing; KEYS with number and
-- value of the sets that are missing among the keys; or one of these,
-- then number and value of each unique value that must be released:
--   EXPIRED   it expired, and was not swept yet
--   DANGLING  it was deleted by another program

local record, content, all, meta, expires = unpack(KEYS, 1, 5)
local mode, id, stamp, slots, members, values = unpack(ARGV)
setsOf(values)

if not inForce(meta, stamp) then
	return { 'SCHEMA' }
end
if redis.call('EXISTS', record) == 1 then
	return { 'CONFLICT' }
end

local places, sorted, behind = placesOf(slots, 7)
local last = behind + members - 1
local before = redis.call('HGET', content, id)
local old = unpacked(before)
local there = before or redis.call('ZSCORE', all, id) or redis.call('ZSCORE', expires, id)
for i = behind, last do
	there = there or redis.call('EXISTS', KEYS[i]) == 1
end
if not there then
	return { 'OK' }
end
local expired = old[1] ~= 0 and old[1] <= now()
local reply = { expired and 'EXPIRED' or 'DANGLING' }
if mode == 'verify' then
	return reply
end

local unknown = { 'KEYS' }
lacking(unknown, old)
if #unknown > 1 then
	return unknown
end
sound(places, sorted, all, expires, { old })
for i = 2, #old, 2 do
	if places[old[i]] == 0 then
		reply[#reply + 1] = old[i]
		reply[#reply + 1] = old[i + 1]
	end
end
forget(places, sorted, id, old, content, all, expires)
redis.call('ZREM', expires, id)
for i = behind, last do
	redis.call('UNLINK', KEYS[i])
end
return reply
