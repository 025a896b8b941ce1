-- Begins a rebuild, says that it goes on, brings it up to what was written
-- meanwhile, puts it in the place of the index, or gives it up. Preceded by
-- declare.lua and heads.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the heads of the index
-- KEYS[8]      hash: the heads of the index that is made
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      begin, beat, catch or end; leftover: look for what a rebuild has left
--              that was killed, clear: and remove it
-- ARGV[5]      which rebuild this is
-- ARGV[6]      catch: how many terms at most; begin and beat: after how many
--              milliseconds it has ended, unless it is heard of
-- ARGV[7]      catch: after how many bytes of names no more are taken
--
-- Reply        how many terms were brought up. 0 of catch: there are no more, and
--              the new index is in place. 1 of leftover and clear: there is some

local function clear()
	redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[8], KEYS[6])
	redis.call('HDEL', KEYS[3], 'rebuild', 'until')
end

if ARGV[4] == 'leftover' or ARGV[4] == 'clear' then
	local found = redis.call('HMGET', KEYS[3], 'rebuild', 'until')
	if not found[1] or found[2] and not lapsed(found[2]) then
		return 0
	end
	if ARGV[4] == 'clear' then
		clear()
	end
	return 1
end
local _, refusal = opened(ARGV[1], ARGV[2], ARGV[3], KEYS[8])
if refusal then
	return refusal
end
local function beat()
	redis.call('HSET', KEYS[3], 'rebuild', ARGV[5], 'until', string.format('%.0f', clock() + ARGV[6]))
	return 0
end
if ARGV[4] == 'begin' then
	clear()
	return beat()
end
local ended = replaced(KEYS[3], ARGV[5])
if ARGV[4] == 'end' then
	if not ended then
		clear()
	end
	return 0
end
if ended then
	return ended
end
if ARGV[4] == 'beat' then
	return beat()
end

local names, bytes = {}, 0
while #names < tonumber(ARGV[6]) and bytes < tonumber(ARGV[7]) do
	local name = redis.call('SPOP', KEYS[6])
	if not name then
		break
	end
	names[#names + 1], bytes = name, bytes + #name
end
if #names > 0 then
	local changes = changesOf(KEYS[5], names)
	for i, now in ipairs(changesOf(KEYS[2], names)) do
		changes[i].count = now.was
	end
	store(KEYS[4], KEYS[5], KEYS[8], changes)
	-- Not in a step of its own: writers who never rest would put it off for ever.
	if redis.call('EXISTS', KEYS[6]) == 1 then
		return #names
	end
end

local function replace(key, by)
	redis.call('UNLINK', key) -- RENAME would free it here and now
	if redis.call('EXISTS', by) == 1 then
		redis.call('RENAME', by, key)
	end
end
replace(KEYS[1], KEYS[4])
replace(KEYS[2], KEYS[5])
replace(KEYS[7], KEYS[8])
redis.call('HDEL', KEYS[3], 'rebuild', 'until')
return 0
