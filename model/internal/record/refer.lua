-- References of records that write.lua writes.

-- refers reports whether a stored record refers to an id by a field: a reference, or a
-- JSON list of these.
local function refers(record, field, id)
	local stored = call('HGET', record, field)
	if not stored or stored == id then
		return stored == id
	end
	local ok, list = pcall(cjson.decode, stored)
	if ok and type(list) == 'table' then
		for _, other in ipairs(list) do
			if other == id then
				return true
			end
		end
	end
	return false
end

-- danglingOf returns the field and the id of a reference to a record that does not exist,
-- unless the stored record has that reference already; or nothing.
--
-- references   where in ARGV field, id and number of keys of each reference are
-- first        the position of the first key: one of those of a reference must exist
local function danglingOf(record, from, to, first)
	local found
	for i = from, to, 3 do
		local field, id, count = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
		local exists = false
		for k = first, first + count - 1 do
			exists = exists or KEYS[k] == record or call('EXISTS', KEYS[k]) == 1
		end
		if not exists and not found and not refers(record, field, id) then
			found = { 'DANGLING', field, id }
		end
		first = first + count
	end
	return found, first
end
