-- Deletes a record and all that it has in the indexes.
--
-- KEYS 1 record, 2 content, 3 all, 4 meta, 5 expires, 6 changes, 7 voids,
--      then the indexes, then the sets and lists of the record, then the indexes of
--      records that may refer to it
-- ARGV 1 id, 2 digest of the declaration, 3 slots, 4 how many changes are kept,
--      5 how many sets and lists, then for each index of those that may refer
--      the range within which they would be: from, to
-- Reply OK or NOTFOUND, where it had unique values in other partitions with index
-- and value of each; SCHEMA; or REFERRED and which of the last keys leads to a record
-- that refers

local record, content, all, meta, expires, changes = unpack(KEYS, 1, 6)
local id, digest, slots, cap, members = unpack(ARGV, 1, 5)

if not writable(meta, digest) then
	return 'SCHEMA'
end

local places, sorted, behind = placesOf(slots, 8)
local last = behind - 1 + tonumber(members)
for i = last + 1, #KEYS do
	local from = 6 + 2 * (i - last - 1)
	if redis.call('ZLEXCOUNT', KEYS[i], ARGV[from], ARGV[from + 1]) > 0 then
		return { 'REFERRED', i - last }
	end
end

local before = redis.call('HGET', content, id)
local existed = redis.call('UNLINK', record) == 1
for i = last - tonumber(members) + 1, last do
	redis.call('UNLINK', KEYS[i])
end
local left = { 'OK' }
if before then
	local entries = cmsgpack.unpack(before)
	for i = 2, #entries, 2 do
		if places[entries[i]] == 0 then
			left[#left + 1] = entries[i]
			left[#left + 1] = entries[i + 1]
		end
	end
	forget(places, sorted, id, entries, content, all, expires)
end
if existed then
	told(changes, cap, 'delete', id)
else
	left[1] = 'NOTFOUND'
end
return #left > 1 and left or left[1]
