-- Adds to a counter of a record that exists.
--
-- KEYS 1 record, 2 changes
-- ARGV 1 id, 2 name of the counter, 3 how many changes are kept, 4 what to add, 5 minimum
--      and 6 maximum, or nothing: 64 bits
-- Reply OK and the sum, NOTFOUND, or OVERFLOW

local record, changes = unpack(KEYS)
local id, name, cap, by, low, high = unpack(ARGV)

if redis.call('EXISTS', record) == 0 then
	return { 'NOTFOUND' }
end
if cap ~= '0' then
	redis.call('XLEN', changes) -- fails, before anything is written, if it is no stream
end
-- Lua is not exact beyond 53 bits: for 64 bits Redis checks.
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
