-- Compares what one record has in the indexes with what it should have, and corrects
-- the indexes.
--
-- KEYS 1 record, 2 content, 3 all, 4 meta, 5 expires, 6 voids, then the indexes, then the sets and lists of the record, then sets of values (see setsOf)
-- ARGV 1 verify: changes nothing, repair: corrects, or migrate: corrects, and removes
--      entries of indexes that are no longer declared, 2 id, 3 stamp of the declaration,
--      4 numbers of the indexes (see placesOf), 5 content as it should be, 6 score in the
--      order of creation, or nothing: the time of the server, 7 d and the digest of the
--      fields that are named last, which the record must still have, 8 1 if the model
--      says when records expire, 9 numbers of the indexes to trust, as in ,3,7,
--      10 claims of unique values in other partitions: a MessagePack list of index, value,
--      token and deadline, or nothing, or any: the owners of unique values are known, 11 which
--      keys are sets of values, then names of fields
-- Reply SCHEMA; CONFLICT: the record has changed; UNKNOWN: its entries in the trusted
-- indexes are lost; KEYS and sets that are missing among the keys, each with a dash,
-- number, value and nothing; or OK and the findings, each with number, value and owner:
--   claim     the value must be claimed first           } then nothing
--   taken     another record has the value              } was changed
--   unclear   the index says so, but not the content    }
--   absent    there is no content; other: it differs
--   extra     an entry in the content that should not exist
--   lacks     an entry that should exist, and does not
--   entry     an entry of the content that is missing or wrong in the index
--   all, expires, ttl   the record is missing or wrong there; ttl: its own, or
--             that of its sets and lists
--   left      a unique value that it no longer has and that must be released

local record, content, all, meta, expires, voids = unpack(KEYS, 1, 6)
local mode, id, stamp, slots, packed, score, expected, expiring, right, claims, values = unpack(ARGV, 1, 11)
local firstSet = setsOf(values)

if not inForce(meta, stamp) then
	return { 'SCHEMA' }
end

local function fingerprint()
	if redis.call('EXISTS', record) == 0 then
		return ''
	end
	local parts = {}
	for i, value in ipairs(#ARGV > 11 and redis.call('HMGET', record, unpack(ARGV, 12)) or {}) do
		parts[i] = value and #value .. ':' .. value or '-'
	end
	return 'd' .. redis.sha1hex(table.concat(parts))
end

if fingerprint() ~= expected then
	return { 'CONFLICT' }
end

local reply = { 'OK' }
local function found(word, number, value, owner)
	reply[#reply + 1] = word
	reply[#reply + 1] = number or 0
	reply[#reply + 1] = value or ''
	reply[#reply + 1] = owner or ''
end

local examples = 0
local function example(word, number, value)
	examples = examples + 1
	if examples <= 8 then
		found(word, number, value)
	end
end

-- What the record had, and what it should have.
local places, sorted, behind = placesOf(slots, 7)
local before = redis.call('HGET', content, id)
local old, sound = unpacked(before)
local new = cmsgpack.unpack(packed)
local carried = false
if right ~= '' and not sound then
	return { 'UNKNOWN' }
end
local had, wanted = {}, {}
for i = 2, #old, 2 do
	local number = old[i]
	had[number .. ':' .. old[i + 1]] = true
	if right:find(',' .. number .. ',', 1, true) or (mode ~= 'migrate' and not places[number]) then
		carried = true
		new[#new + 1] = number
		new[#new + 1] = old[i + 1]
	end
end

for i = 2, #new, 2 do
	wanted[new[i] .. ':' .. new[i + 1]] = true
end
local extra, unknown = { 0 }, {}
for i = 2, #old, 2 do
	if not wanted[old[i] .. ':' .. old[i + 1]] then
		extra[#extra + 1] = old[i]
		extra[#extra + 1] = old[i + 1]
	end
end
lacking(unknown, new)
lacking(unknown, extra)
if #unknown > 0 then
	reply[1] = 'KEYS'
	for i = 1, #unknown, 2 do
		found('-', unknown[i], unknown[i + 1])
	end
	return reply
end

-- Values that the record cannot have.
local valid = {}
if claims ~= '' and claims ~= 'any' then
	local list = cmsgpack.unpack(claims)
	for i = 1, #list, 4 do
		if tonumber(list[i + 3]) > now() and not redis.call('ZSCORE', voids, list[i + 2]) then
			valid[list[i] .. ':' .. list[i + 1]] = true
		end
	end
end
for i = 2, #new, 2 do
	local number, value = new[i], new[i + 1]
	local name, place = number .. ':' .. value, places[number]
	if place == 0 and not had[name] and not valid[name] and claims ~= 'any' then
		found('claim', number, value)
	elseif place and place > 0 and place < sorted then
		local owner = redis.call('HGET', KEYS[place], value)
		if owner and owner ~= id then
			local its = redis.call('HGET', content, owner)
			if not its then
				if claims ~= 'any' then
					found('unclear', number, value, owner)
				end
			elseif has(unpacked(its), number, value) then
				found('taken', number, value, owner)
			end
		end
	end
end
if #reply > 1 then
	return reply
end

local created = redis.call('ZSCORE', all, id)

-- inSet reports whether the set of a value has the record in the order of creation, and
-- the directory the value.
local function inSet(number, value)
	local score = redis.call('ZSCORE', KEYS[setOf(number, value)], id)
	return score and (not created or score == created) and redis.call('ZSCORE', KEYS[places[number]], value)
end

-- What is wrong.
local same = sound and old[1] == new[1] and #old == #new
if not before then
	found('absent')
end
for i = 2, #new, 2 do
	local number, value = new[i], new[i + 1]
	local place = places[number]
	if not had[number .. ':' .. value] then
		same = false
		example('lacks', number, value)
	elseif perValue[number] then
		if not inSet(number, value) then
			example('entry', number, value)
		end
	elseif place and (place >= sorted and redis.call('ZSCORE', KEYS[place], value .. id) ~= '0'
		or place > 0 and place < sorted and redis.call('HGET', KEYS[place], value) ~= id) then
		example('entry', number, value)
	end
end
for i = 2, #extra, 2 do
	same = false
	example('extra', extra[i], extra[i + 1])
end
if before and not same then
	found('other')
end
if not created then
	found('all')
end
local due = string.format('%.0f', new[1])
local listed = redis.call('ZSCORE', expires, id)
if new[1] == 0 and listed or new[1] ~= 0 and tonumber(listed) ~= new[1] then
	found('expires')
end
-- How long the record lives, and its sets and lists with it; less than 0: without end. Time
-- stands still within a script, but servers differ.
local lives = redis.call('PTTL', record)
if new[1] ~= 0 then
	lives = math.max(new[1] - now(), 0)
elseif expiring == '1' or old[1] ~= 0 then
	lives = -1
end
local mortal = { record }
for i = behind, firstSet - 1 do
	mortal[#mortal + 1] = redis.call('EXISTS', KEYS[i]) == 1 and KEYS[i] or nil
end
for _, key in ipairs(mortal) do
	local left = redis.call('PTTL', key)
	if (left < 0) ~= (lives < 0) or math.abs(left - lives) > 1000 then
		found('ttl')
		break
	end
end
if mode == 'verify' or #reply == 1 then
	return reply
end

-- Enter everything, whatever the content says.
score = scoreOf(all, id, score)
for i = 2, #extra, 2 do
	if places[extra[i]] then
		leave(places, sorted, id, extra[i], extra[i + 1])
		if places[extra[i]] == 0 then
			found('left', extra[i], extra[i + 1])
		end
	end
end
for i = 2, #new, 2 do
	if places[new[i]] then
		enter(places, sorted, id, new[i], new[i + 1], score)
	end
end
redis.call('HSET', content, id, carried and cmsgpack.pack(new) or packed)
if new[1] ~= 0 then
	redis.call('ZADD', expires, due, id)
else
	redis.call('ZREM', expires, id)
end
for _, key in ipairs(mortal) do
	if new[1] ~= 0 then
		redis.call('PEXPIREAT', key, due)
	elseif lives < 0 then
		redis.call('PERSIST', key)
	else
		redis.call('PEXPIRE', key, string.format('%.0f', lives))
	end
end
return reply
