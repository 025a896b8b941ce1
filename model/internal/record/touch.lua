-- Changes when a record expires.
--
-- KEYS 1 record, 2 content, 3 expires, 4 meta, then the sets and lists of the record
-- ARGV 1 id, 2 stamp of the declaration, 3 the time of the server in milliseconds as the
--      caller has estimated it, 4 the millisecond at which the record expires, 5 name of the
--      field that says so, and 6 its value
-- Reply OK, SCHEMA, NOTFOUND, WRITE: the record has no content and must be written, or
-- CLOCK and the time of the server: nothing was changed

local record, content, expires, meta = unpack(KEYS, 1, 4)
local id, stamp, clock, due, name, value = unpack(ARGV)

if not writable(meta, stamp) then
	return { 'SCHEMA' }
end
local time = now()
if math.abs(time - clock) > 500 then
	return { 'CLOCK', string.format('%.0f', time) }
end
if call('EXISTS', record) == 0 then
	return { 'NOTFOUND' }
end
local entries, sound = unpacked(call('HGET', content, id))
if not sound then
	return { 'WRITE' }
end
call('ZCARD', expires) -- fails, before anything is written, if it is of another type
call('HSET', record, name, value)
entries[1] = tonumber(due)
call('HSET', content, id, cmsgpack.pack(entries))
call('ZADD', expires, due, id)
call('PEXPIREAT', record, due)
for i = 5, #KEYS do
	call('PEXPIREAT', KEYS[i], due)
end
return { 'OK' }
