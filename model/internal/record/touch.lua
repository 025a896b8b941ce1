-- Changes when a record expires.
--
-- KEYS 1 record, 2 content, 3 expires, 4 meta, 5 changes, then the sets and lists of the
--      record
-- ARGV 1 id, 2 stamp of the declaration, 3 how many changes are kept, 4 the time of the
--      server in milliseconds as the caller has estimated it, 5 the millisecond at which the
--      record expires, 6 name of the field that says so, and 7 its value
-- Reply OK, SCHEMA, NOTFOUND, WRITE: the record has no content and must be written, or
-- CLOCK and the time of the server: nothing was changed

local record, content, expires, meta, changes = unpack(KEYS, 1, 5)
local id, stamp, cap, clock, due, name, value = unpack(ARGV)

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
if cap ~= '0' then
	call('XLEN', changes)
end
call('HSET', record, name, value)
entries[1] = tonumber(due)
call('HSET', content, id, cmsgpack.pack(entries))
call('ZADD', expires, due, id)
call('PEXPIREAT', record, due)
for i = 6, #KEYS do
	call('PEXPIREAT', KEYS[i], due)
end
told(changes, cap, 'save', id)
return { 'OK' }
