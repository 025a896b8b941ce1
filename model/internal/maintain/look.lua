-- Reads the index entries of a record in one snapshot.
--
-- KEYS 1 record, 2 meta, then the key of each command
-- ARGV 1 stamp of the declaration, 2 d and the expected digest of fields of the record, or
--      empty if the record must not exist, 3 number of fields, then their names, then for each
--      command its name and its argument, which is ignored for PTTL
-- Reply SCHEMA; CONFLICT if the record has changed; or OK, the time of the server in
-- milliseconds, and the replies of the commands

local record, meta = KEYS[1], KEYS[2]
local stamp, expected, fields = ARGV[1], ARGV[2], tonumber(ARGV[3])

if not inForce(meta, stamp) then
	return { 'SCHEMA' }
end
local read = ''
if call('EXISTS', record) == 1 then
	local parts = {}
	for i, value in ipairs(fields > 0 and call('HMGET', record, unpack(ARGV, 4, 3 + fields)) or {}) do
		parts[i] = value and #value .. ':' .. value or '-'
	end
	read = 'd' .. redis.sha1hex(table.concat(parts))
end
if read ~= expected then
	return { 'CONFLICT' }
end
local reply, a = { 'OK', now() }, 4 + fields
for i = 3, #KEYS do
	local command, argument = ARGV[a], ARGV[a + 1]
	reply[i] = command == 'PTTL' and call(command, KEYS[i]) or call(command, KEYS[i], argument)
	a = a + 2
end
return reply
