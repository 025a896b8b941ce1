-- Counts in a record that is there.
--
-- KEYS 1 record, 2 changes
-- ARGV 1 id, 2 name of the counter, 3 how many changes are kept, 4 by how much,
--      5 from and 6 to which number it counts, or nothing: 64 bits
-- Reply OK and the number that it has now, NOTFOUND, or OVERFLOW

local record, changes = unpack(KEYS)
local id, name, cap, by, low, high = unpack(ARGV)

if redis.call('EXISTS', record) == 0 then
	return { 'NOTFOUND' }
end
if cap ~= '0' then
	redis.call('XLEN', changes) -- which fails, before anything is written, if it is no stream
end
-- Lua does not count exactly beyond 53 bits: of 64, Redis tells.
if low ~= '' then
	local sum = (tonumber(redis.call('HGET', record, name)) or 0) + by
	if sum < tonumber(low) or sum > tonumber(high) then
		return { 'OVERFLOW' }
	end
end
local done = redis.pcall('HINCRBY', record, name, by)
if type(done) == 'table' then
	return done.err:find('overflow', 1, true) and { 'OVERFLOW' } or done
end
told(changes, cap, 'incr', id, name)
return { 'OK', redis.call('HGET', record, name) }
