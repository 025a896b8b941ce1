-- Makes some objects the only ones of a subject and a predicate. Preceded by declare.lua
-- and entries.lua.
--
-- KEYS     index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     how many objects it may remove, at most 100
-- ARGV[5]     how many bytes their entries of spo may have, if it is more than one
-- ARGV[6..7]  subject and predicate, escaped
-- ARGV[8..]   the objects, escaped, each once; at most 100
--
-- Reply    how many are new, and how many were removed; nothing is changed where there are
--          more to remove

local rebuilding, refusal = opened(ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
end
local most, bytes, s, p = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
local new = {}
for i = 8, #ARGV do
	new[primary(s, p, ARGV[i])] = ARGV[i]
end

local prefix = primary(s, p, '')
local low, high = '[' .. prefix, '(' .. string.sub(prefix, 1, -2) .. ';'
local gone, ids = {}, {}
while true do
	local some = redis.call('ZRANGE', KEYS[1], low, high, 'BYLEX', 'LIMIT', 0, 50)
	for _, id in ipairs(some) do
		if new[id] then
			new[id] = nil
		else
			bytes = bytes - #id
			if #gone == most or #gone > 0 and bytes < 0 then
				return redis.error_reply('MANY objects to remove')
			end
			gone[#gone + 1] = string.sub(id, #prefix + 1)
			ids[#ids + 1] = id
		end
	end
	if #some < 50 then
		break
	end
	low = '(' .. some[50]
end

local added, removed = {}, {}
local count = 0
for id, o in pairs(new) do
	count = count + 1
	append(added, {id})
	append(added, secondary(s, p, o))
	ids[#ids + 1] = id
end
for _, o in ipairs(gone) do
	removed[#removed + 1] = primary(s, p, o)
	for _, entry in ipairs(secondary(s, p, o)) do
		removed[#removed + 1] = entry
	end
end
if #ids == 0 then
	return {0, 0}
end
if rebuilding then
	redis.call('SADD', KEYS[6], unpack(ids))
end
if #added > 0 then
	redis.call('ZADD', KEYS[1], unpack(added))
end
if #removed > 0 then
	redis.call('ZREM', KEYS[1], unpack(removed))
end
return {count, #gone}
