-- Adds to a counter of an existing record, and updates its index entries.
--
-- KEYS 1 record, 2 content, 3 meta, then the indexes that have the counter as their last column
-- ARGV 1 id
--      2 name of the counter
--      3 number to add
--      4 minimum and 5 maximum of the type
--      6 minimum and 7 maximum that the model declares, or empty: 64 bits
--      8 stamp of the declaration
--      then for each index: its number, 1 if it is descending, and 1 if it has no other column
-- Reply OK and the sum, NOTFOUND, SCHEMA, OVERFLOW, or BOUND and the value

local record, content, meta = unpack(KEYS, 1, 3)
local id, name, by, low, high, minimum, maximum, stamp = unpack(ARGV, 1, 8)

if not writable(meta, stamp) then -- checked even if the caller knows no index of the counter
	return { 'SCHEMA' }
end
if call('EXISTS', record) == 0 then
	return { 'NOTFOUND' }
end
for i = 4, #KEYS do
	call('ZCARD', KEYS[i]) -- fails, before anything is written, if the key has another type
end
local entries, sound
if #KEYS > 3 then
	entries, sound = unpacked(call('HGET', content, id))
end

-- Lua numbers are exact only up to 53 bits. Redis therefore adds, and a sum out of bounds is
-- undone.
local before = call('HGET', record, name)
local reply = redis.pcall('HINCRBY', record, name, by)
if type(reply) == 'table' then
	return reply.err:find('overflow', 1, true) and { 'OVERFLOW' } or reply
end
local text = call('HGET', record, name)
local sum = tonumber(text)
local added = tonumber(by)
local function outside(low, high)
	return low ~= '' and added < 0 and sum < tonumber(low) or high ~= '' and added > 0 and sum > tonumber(high)
end
local refused = outside(minimum, maximum) and 'BOUND' or outside(low, high) and 'OVERFLOW'
if refused then
	if before then
		call('HSET', record, name, before)
	else
		call('HDEL', record, name)
	end
	return { refused, before or '0' }
end

-- encoded converts a decimal number of 64 bits to eight bytes that sort as the numbers do.
local function encoded(text, desc)
	local negative = text:sub(1, 1) == '-'
	local high, low = 0, 0
	for i = negative and 2 or 1, #text do
		low = low * 10 + text:byte(i) - 48
		local carry = math.floor(low / 4294967296)
		low = low - carry * 4294967296
		high = high * 10 + carry
	end
	if negative then -- the two's complement
		low = 4294967296 - low
		high = 4294967295 - high
		if low == 4294967296 then
			low, high = 0, high + 1
		end
	end
	high = (high + 2147483648) % 4294967296 -- invert the sign bit
	if desc then
		high, low = 4294967295 - high, 4294967295 - low
	end
	return struct.pack('>I4I4', high, low)
end

if sound then
	local changed = false
	for k = 4, #KEYS do
		local at = 9 + 3 * (k - 4)
		local number, desc, single = tonumber(ARGV[at]), ARGV[at + 1] == '1', ARGV[at + 2] == '1'
		local found = false
		for i = 2, #entries, 2 do
			if entries[i] == number then
				local value = entries[i + 1]:sub(1, -9) .. encoded(text, desc)
				call('ZREM', KEYS[k], entries[i + 1] .. id)
				call('ZADD', KEYS[k], '0', value .. id)
				entries[i + 1] = value
				found, changed = true, true
			end
		end
		if single and not found then
			local value = encoded(text, desc)
			call('ZADD', KEYS[k], '0', value .. id)
			entries[#entries + 1] = number
			entries[#entries + 1] = value
			changed = true
		end
	end
	if changed then
		call('HSET', content, id, cmsgpack.pack(entries))
	end
end
return { 'OK', text }
