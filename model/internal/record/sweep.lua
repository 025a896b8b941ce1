-- Removes expired records from the indexes. The server has deleted the records.
--
-- KEYS 1 content, 2 all, 3 expires, 4 meta, then the indexes, then sets of values (see
--      setsOf)
-- ARGV 1 stamp of the declaration, 2 numbers of the indexes, 3 maximum number of records,
--      4 number of entries after which to stop, 5 which keys are sets of values
-- Reply SCHEMA, or how many records there were; 1 if there may be more; index and value of
-- the sets that are missing among the keys; id, index and value of each unique value that
-- must be released
--
-- A record whose sets are missing stays. Then there may be more.

local content, all, expires, meta = unpack(KEYS, 1, 4)
local stamp, slots, records, budget, values = unpack(ARGV)
setsOf(values)
if not writable(meta, stamp) then
	return 'SCHEMA'
end

local places, sorted = placesOf(slots, 5)
local due = redis.call('ZRANGEBYSCORE', expires, '-inf', now(), 'LIMIT', 0, records)
if #due > 0 then
	sound(places, sorted, all, expires)
end
local unknown, released = {}, {}
local seen, swept = 0, 0
local more = #due == tonumber(records)
for _, id in ipairs(due) do
	if seen >= tonumber(budget) then
		more = true
		break
	end
	local entries = unpacked(redis.call('HGET', content, id))
	seen = seen + #entries
	local known = #unknown
	lacking(unknown, entries)
	if #unknown == known then
		for j = 2, #entries, 2 do
			if places[entries[j]] == 0 then
				released[#released + 1] = id
				released[#released + 1] = entries[j]
				released[#released + 1] = entries[j + 1]
			end
		end
		forget(places, sorted, id, entries, content, all, expires)
		redis.call('ZREM', expires, id)
		swept = swept + 1
	end
end
return { swept, (more or #unknown > 0) and 1 or 0, unknown, released }
