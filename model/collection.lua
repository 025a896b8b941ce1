-- Changes a set or list of an existing record. The set or list expires with the record.
--
-- KEYS 1 record, 2 set or list
-- ARGV 1 set or list, 2 maximum length of a list, or 0 for no maximum, 3 command, then its
--      arguments after the key, or for REPLACE all values
-- Reply OK and the reply of the command; NOTFOUND; or LONG and the length of the list if it is
-- too long to search

local record, key = unpack(KEYS)
local kind, maxLength, command = unpack(ARGV, 1, 3)

if redis.call('EXISTS', record) == 0 then
	return { 'NOTFOUND' }
end
-- A search takes time proportional to the length of the list.
if command == 'LREM' then
	local length = redis.call('LLEN', key)
	if length > 50000 then
		return { 'LONG', length }
	end
end

local result
if command == 'REPLACE' then
	redis.call(kind == 'set' and 'SCARD' or 'LLEN', key) -- fails if the key has another type
	result = redis.call('UNLINK', key)
	for i = 4, #ARGV, 2000 do
		result = redis.call(kind == 'set' and 'SADD' or 'RPUSH', key, unpack(ARGV, i, math.min(i + 1999, #ARGV)))
	end
else
	result = redis.call(command, key, unpack(ARGV, 4))
end
if not result or result == 0 then
	return { 'OK', result }
end
if maxLength ~= '0' and (command == 'LPUSH' or command == 'RPUSH') then
	-- A list that is much too long is trimmed in steps.
	local keep = math.max(tonumber(maxLength), result - 10000)
	if result > keep and command == 'LPUSH' then
		redis.call('LTRIM', key, 0, keep - 1)
	elseif result > keep then
		redis.call('LTRIM', key, -keep, -1)
	end
	result = math.min(result, keep)
end
local ttl = redis.call('PTTL', record)
if ttl >= 0 then
	redis.call('PEXPIRE', key, ttl)
else
	redis.call('PERSIST', key)
end
return { 'OK', result }
