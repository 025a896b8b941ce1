-- Removes expired records from the indexes. The server has deleted the records.
--
-- KEYS 1 content, 2 all, 3 expires, 4 meta, 5 changes, then the indexes
-- ARGV 1 stamp of the declaration, 2 numbers of the indexes, 3 how many changes are kept,
--      4 maximum number of records, 5 number of entries after which to stop
-- Reply SCHEMA, or how many records there were, 1 if there may be more, then id, number
-- and value of each unique value that must be released

local content, all, expires, meta, changes = unpack(KEYS, 1, 5)
local stamp, slots, cap, records, budget = unpack(ARGV)
local may, waiting = writable(meta, stamp)
if not may then
	return 'SCHEMA'
end

local places, sorted = placesOf(slots, 6)
local due = redis.call('ZRANGEBYSCORE', expires, '-inf', now(), 'LIMIT', 0, records)
if #due > 0 then
	sound(places, sorted, all, expires, changes, cap)
end
local reply = { #due, #due == tonumber(records) and 1 or 0 }
local seen = 0
for i, id in ipairs(due) do
	if seen >= tonumber(budget) then
		reply[1], reply[2] = i - 1, 1
		break
	end
	local packed = redis.call('HGET', content, id)
	local entries = unpacked(packed)
	for j = 2, #entries, 2 do
		if places[entries[j]] == 0 or waiting and places[entries[j]] and places[entries[j]] < sorted then
			reply[#reply + 1] = id
			reply[#reply + 1] = entries[j]
			reply[#reply + 1] = entries[j + 1]
		end
	end
	seen = seen + #entries
	forget(places, sorted, id, entries, content, all, expires)
	redis.call('ZREM', expires, id)
	told(changes, cap, 'expire', id)
end
return reply
