-- Compares a record with the state that the caller expects, and writes the record with its
-- index entries. The caller computes the entries, so this script does not depend on indexes or
-- fields.
--
-- KEYS 1 record, 2 content, 3 all, 4 meta, then in this order:
--      expires and voids, depending on the flags
--      for each field that may refer to a record to delete: the meta of its model and an index
--      the records that the references name
--      the sets and lists of the record, if its expiry changes or it is deleted
--      for each entry to add, its index: hashes of unique values, sorted sets, sets of values,
--      and the directories of these sets; then the same for each entry to remove
-- ARGV 1 stamp of the declaration
--      2 id
--      3 shape: 16 numbers of 16 bits, see below
--      4 the expected content; empty: none
--      5 the new content; empty: delete the record, or its leftovers
--      then in this order:
--      arguments of the flags
--      for each field that may refer: the stamp of its declaration, the command and the range
--      that count the referring entries, their maximum number, and 1 if the maximum also
--      applies to a missing record
--      for each reference: its number of keys, one of which must exist
--      names of fields to compare, and as many values: = and the value, or empty
--      names of fields to digest; names to return; names to delete
--      for each entry to add, and then to remove: a unique value, a member, or a value with a
--      set
--      names and values to write; those only for a new record come last
-- Reply one of
--      OK, or OK and a list of the values to return
--      NOTFOUND: leftovers of a deleted record were removed
--      SCHEMA
--      FOREIGN: the model did not write the record to delete
--      LATE: a claim has expired
--      CLOCK and the time of the server
--      REFERRED and the number of a field that may refer
--      DANGLING and the number of a reference
--      TAKEN, the number of an entry, its owner and the owner's content
--      FOUND, if the record is not as expected: 1 if it exists, its content, the values that
--      were compared, and 1 if the digest matches
--
-- Nothing is written unless the reply is OK. The record is written last: if an index key has
-- another type, the script undoes what it has written.

local call, try, KEYS, ARGV = redis.call, redis.pcall, KEYS, ARGV
local record, content, all, id, new = KEYS[1], KEYS[2], KEYS[3], ARGV[2], ARGV[5]
local mode, flags, references, compared, digested, returned, deleted, initial, members, guards, u1, z1, s1, u2, z2, s2 =
	struct.unpack('>HHHHHHHHHHHHHHHH', ARGV[3])
local isNew, isThere, either = 0, 1, 2 -- modes
local k, a = 5, 6 -- the next key and argument

local function writable(meta, stamp)
	local found = call('HMGET', meta, 'digest', 'token')
	local token = found[2] or ''
	if stamp == (found[1] or '') .. token then
		return true
	end
	local also = call('HGET', meta, 'also')
	return also and stamp == also .. token
end

if not writable(KEYS[4], ARGV[1]) then
	return 'SCHEMA'
end

local due, expires, score, digest, version
if flags % 2 == 1 then -- 1: time of expiry, or 0
	expires, due = KEYS[k], ARGV[a]
	k, a = k + 1, a + 1
end
if flags % 4 > 1 then -- 2: the score of a new record; without it, the time
	score, a = ARGV[a], a + 1
end
if flags > 3 then
	if flags % 8 > 3 then -- 4: the digest of fields
		digest, a = ARGV[a], a + 1
	end
	if flags % 16 > 7 then -- 8: the version field to increment in an existing record
		version, a = ARGV[a], a + 1
	end
	if flags % 64 > 15 then -- 16: the caller's estimate of the time, 32: token and deadline of claims
		local t = call('TIME')
		local now = t[1] * 1000 + math.floor(t[2] / 1000)
		if flags % 32 > 15 then
			if math.abs(now - ARGV[a]) > 500 then
				return { 'CLOCK', string.format('%.0f', now) }
			end
			a = a + 1
		end
		if flags % 64 > 31 then
			if tonumber(ARGV[a + 1]) <= now or call('ZSCORE', KEYS[k], ARGV[a]) then
				return 'LATE'
			end
			k, a = k + 1, a + 2
		end
	end
end
local force = flags % 128 > 63 -- 64: add every entry, and delete even what the model did not write
local keeps = flags > 127 -- 128: keep the content, except for the time of expiry
local guard, guarded = k, a
k, a = k + 2 * guards, a + 6 * guards
local referred, perReference = k, a -- positions of the first key, and of the first number of keys
for i = 1, references do
	k = k + tonumber(ARGV[a])
	a = a + 1
end

-- Compare. The content of a new record is written without reading it first.
local values, digestMatches, exists = {}, 1, false
if compared > 0 then
	values = call('HMGET', record, unpack(ARGV, a, a + compared - 1))
	for i = 1, compared do
		exists = exists or values[i]
	end
end
local known = new == '' and (call('HEXISTS', content, id) == 1 or call('ZSCORE', all, id)) -- delete the key, whatever its type
exists = exists and true or call((mode == isNew or known) and 'EXISTS' or 'HLEN', record) > 0 -- HLEN fails if the key is not a hash
local creates = references == 0 and ARGV[4] == '' and not exists and mode ~= isThere and new ~= ''
local found = ''
if not creates or call('HSETNX', content, id, new) == 0 then
	creates = false
	found = call('HGET', content, id) or ''
end
-- Leftovers of an expired record do not prove that the record still has its unique values:
-- other records may have them by now.
local absent = mode == isNew or mode == either and (found == '' or new == '')
local right = found == ARGV[4] and (exists and mode ~= isNew or not exists and absent)
local same = exists and mode ~= isNew and found == new and not force -- then no entry changes
if compared > 0 then
	for i = 1, exists and compared or 0 do
		local value = values[i]
		if (value and '=' .. value or '') ~= ARGV[a + compared + i - 1] then
			right, same = false, false
		end
	end
	a = a + 2 * compared
end
if digest then
	local parts = {}
	for i, value in ipairs(digested > 0 and call('HMGET', record, unpack(ARGV, a, a + digested - 1)) or {}) do
		parts[i] = value and #value .. ':' .. value or '-'
	end
	if redis.sha1hex(table.concat(parts)) ~= digest then
		right, same, digestMatches = false, false, 0
	end
	a = a + digested
end
if keeps and exists then
	local ok, list = pcall(cmsgpack.unpack, found)
	if ok and type(list) == 'table' and type(list[1]) == 'number' then
		list[1] = tonumber(due)
		right, new = true, cmsgpack.pack(list)
	end
end
if not right and not same then
	return { 'FOUND', exists and 1 or 0, found, values, digestMatches }
end
if new == '' and exists and found == '' and not force and not call('ZSCORE', all, id) then
	return 'FOREIGN'
end
for i = 1, guards do
	local declared, command, from, to, most, always = unpack(ARGV, guarded, guarded + 5)
	if (exists or always == '1') and
		(not writable(KEYS[guard], declared) or call(command, KEYS[guard + 1], from, to) > tonumber(most)) then
		return { 'REFERRED', i }
	end
	guard, guarded = guard + 2, guarded + 6
end
for i = 1, references do
	local there = false
	for j = referred, referred + ARGV[perReference + i - 1] - 1 do
		there = there or KEYS[j] == record or call('EXISTS', KEYS[j]) == 1
	end
	if not there then
		return { 'DANGLING', i }
	end
	referred = referred + ARGV[perReference + i - 1]
end
local returnedAt, deletedAt = a, a + returned
a = deletedAt + deleted
local n1, n2 = u1 + z1 + s1, u2 + z2 + s2
local a1, a2, k1 = a - 1, a + n1 - 1, k + members - 1 -- positions before the first entry
local k2 = k1 + n1 + s1
a = a + n1 + n2

if not same then
	-- The loop ends at the first reply that is a table: a server error, usually for a key of
	-- another type, or the owner of a unique value.
	local entered, left, added, failed = 0, 0, false, nil
	repeat
		if due then
			failed = try('ZCARD', expires)
			if type(failed) == 'table' then break end
		end
		for i = 1, u1 do
			failed = try('HSETNX', KEYS[k1 + i], ARGV[a1 + i], id)
			if failed == 0 then
				local owner = call('HGET', KEYS[k1 + i], ARGV[a1 + i])
				failed = owner ~= id and { 'TAKEN', i, owner, call('HGET', content, owner) or '' }
			else
				entered = i
			end
			if type(failed) == 'table' then break end
		end
		if type(failed) == 'table' then break end
		local known = not creates and try('ZSCORE', all, id)
		if type(known) == 'table' then
			failed = known
			break
		end
		if not known and new ~= '' then
			if not score then
				local t, last = call('TIME'), try('ZRANGE', all, -1, -1, 'WITHSCORES')
				if last.err then
					failed = last
					break
				end
				score = string.format('%.0f', math.max(t[1] * 1000000 + t[2], last[2] and last[2] + 1 or 0))
			end
			failed = try('ZADD', all, score, id)
			if type(failed) == 'table' then break end
			added = true
		else
			score = known or '0'
		end
		local fresh = force or s1 > 0 and call('EXISTS', unpack(KEYS, k1 + n1 - s1 + 1, k1 + n1)) < s1
		for i = u1 + 1, u1 + z1 do
			entered, failed = i, try('ZADD', KEYS[k1 + i], '0', ARGV[a1 + i])
			if type(failed) == 'table' then break end
		end
		if type(failed) == 'table' then break end
		for i = u1 + z1 + 1, n1 do
			entered, failed = i, try('ZADD', KEYS[k1 + i], score, id)
			if type(failed) == 'table' then break end
			if fresh then
				failed = try('ZADD', KEYS[k1 + s1 + i], '0', ARGV[a1 + i])
				if type(failed) == 'table' then break end
			end
		end
		if type(failed) == 'table' then break end
		for i = 1, n2 do
			left = i
			local key, value = KEYS[k2 + i], ARGV[a2 + i]
			if i <= u2 then
				failed = try('HGET', key, value)
				if failed == id then
					call('HDEL', key, value)
				end
			elseif i <= u2 + z2 then
				failed = try('ZREM', key, value)
			else
				-- While a Cluster moves the slot, the server refuses access to missing keys: do
				-- not access the key again.
				local last = try('ZCARD', key)
				failed = try('ZREM', key, id)
				if failed == 1 and last == 1 then
					failed = try('ZREM', KEYS[k2 + i + s2], value)
				end
			end
			if type(failed) == 'table' then break end
		end
		if type(failed) == 'table' then break end
		if new == '' then
			call('HDEL', content, id)
			call('ZREM', all, id)
		elseif not creates then
			call('HSET', content, id, new)
		end
	until true
	if type(failed) == 'table' then -- undo, as far as the types of the keys allow
		for i = entered, 1, -1 do
			local key, value = KEYS[k1 + i], ARGV[a1 + i]
			if i <= u1 then
				try('HDEL', key, value)
			elseif i <= u1 + z1 then
				try('ZREM', key, value)
			elseif try('ZREM', key, id) == 1 and call('EXISTS', key) == 0 then
				try('ZREM', KEYS[k1 + i + s1], value)
			end
		end
		for i = left, 1, -1 do
			local key, value = KEYS[k2 + i], ARGV[a2 + i]
			if i <= u2 then
				try('HSETNX', key, value, id)
			elseif i <= u2 + z2 then
				try('ZADD', key, '0', value)
			else
				try('ZADD', key, score, id)
				try('ZADD', KEYS[k2 + i + s2], '0', value)
			end
		end
		if added then
			call('ZREM', all, id)
		end
		if creates then
			call('HDEL', content, id)
		end
		return failed
	end
end

if new == '' then
	if due then
		call('ZREM', expires, id)
	end
	call('UNLINK', record, unpack(KEYS, k, k1))
	return exists and 'OK' or 'NOTFOUND'
end
local last = exists and #ARGV - initial or #ARGV
for i = a, last, 2000 do
	call('HSET', record, unpack(ARGV, i, math.min(i + 1999, last)))
end
if deleted > 0 then
	call('HDEL', record, unpack(ARGV, deletedAt, deletedAt + deleted - 1))
end
if version and exists then
	local before = call('HGET', record, version)
	call('HSET', record, version, before and before:find('^%d+$') and before + 1 or '1')
end
if due == '0' then
	call('ZREM', expires, id)
	for i = k, k1 do
		call('PERSIST', KEYS[i])
	end
	call('PERSIST', record)
elseif due and not same then
	call('ZADD', expires, due, id)
	call('PEXPIREAT', record, due)
	for i = k, k1 do
		call('PEXPIREAT', KEYS[i], due)
	end
end
if returned > 0 and (exists or mode == isThere) then
	return { 'OK', call('HMGET', record, unpack(ARGV, returnedAt, returnedAt + returned - 1)) }
end
return 'OK'
