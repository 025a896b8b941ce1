-- Changes a set or a list of a record that is there. It ends when the record does.
--
-- KEYS 1 record, 2 set or list, 3 changes
-- ARGV 1 id, 2 name of the set or list, 3 how many changes are kept, 4 set or list,
--      5 how many values a list keeps, or 0: all, 6 command, then what follows the
--      key in it
-- Reply OK and what the command replies; NOTFOUND; or LONG and the length of a list
-- that is too long to be searched

local record, key, changes = unpack(KEYS)
local id, name, cap, kind, most, command = unpack(ARGV, 1, 6)

if redis.call('EXISTS', record) == 0 then
	return { 'NOTFOUND' }
end
-- A search takes as long as the list is.
if command == 'LREM' then
	local length = redis.call('LLEN', key)
	if length > 50000 then
		return { 'LONG', length }
	end
end

if cap ~= '0' then
	redis.call('XLEN', changes) -- which fails, before anything is written, if it is no stream
end
local done = redis.call(command, key, unpack(ARGV, 7))
if not done or done == 0 then
	return { 'OK', done }
end
if most ~= '0' and (command == 'LPUSH' or command == 'RPUSH') then
	-- What is much too long is trimmed little by little.
	local keep = math.max(tonumber(most), done - 10000)
	if done > keep and command == 'LPUSH' then
		redis.call('LTRIM', key, 0, keep - 1)
	elseif done > keep then
		redis.call('LTRIM', key, -keep, -1)
	end
	done = math.min(done, keep)
end
local left = redis.call('PTTL', record)
if left >= 0 then
	redis.call('PEXPIRE', key, left)
else
	redis.call('PERSIST', key)
end
told(changes, cap, kind, id, name)
return { 'OK', done }
