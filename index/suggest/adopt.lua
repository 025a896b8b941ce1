-- Converts entries form:count:original, made by hand or by an older version of this
-- package. Preceded by declare.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      hash: the top-k cache of the index
-- KEYS[8]      hash: the top-k cache of the new index of a rebuild
-- KEYS[9]      set: the blocked forms
-- ARGV[1]…[3]  kind, declaration, partitions
-- ARGV[4]      begin: lock out readers and writers; fill: fill the next index; forms:
--              block these; end: replace the present index by the next one
-- ARGV[5]      the name of this run
-- ARGV[6]      begin: the declaration of the index, empty: none
-- ARGV[7]…     begin: the declaration during the adoption
-- ARGV[6]…     fill: term, count, …; of two counts of a term the greater one stays;
--              forms: old, new or empty, …
--
-- Reply        0

local now = redis.call('HGET', KEYS[3], 'declaration')
if ARGV[4] == 'begin' then
	if (now or '') ~= ARGV[6] and now ~= ARGV[7] then
		return redis.error_reply('REPLACED by another declaration')
	end
	redis.call('HSET', KEYS[3], 'kind', ARGV[1], 'declaration', ARGV[7], 'partitions', ARGV[3], 'adopted', ARGV[5])
	redis.call('HDEL', KEYS[3], 'rebuild', 'until')
	redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[8], KEYS[6])
	return 0
elseif ARGV[4] == 'end' and now == ARGV[2] then
	return 0 -- this partition was finished before an interruption
elseif redis.call('HGET', KEYS[3], 'adopted') ~= ARGV[5] then
	return redis.error_reply('REPLACED by another run')
end

if ARGV[4] == 'fill' then
	local terms = {}
	for i = 6, #ARGV, 2 do
		terms[#terms + 1] = ARGV[i]
	end
	local changes = changesOf(KEYS[5], terms)
	for i, c in ipairs(changes) do
		c.count = math.max(c.was or 0, tonumber(ARGV[2 * i + 5]))
	end
	store(KEYS[4], KEYS[5], KEYS[8], changes)
elseif ARGV[4] == 'forms' then
	for i = 6, #ARGV, 2 do
		redis.call('SREM', KEYS[9], ARGV[i])
		if ARGV[i + 1] ~= '' then
			redis.call('SADD', KEYS[9], ARGV[i + 1])
		end
	end
else
	for i, key in ipairs({KEYS[1], KEYS[2], KEYS[7]}) do
		redis.call('UNLINK', key)
		local made = KEYS[({4, 5, 8})[i]]
		if redis.call('EXISTS', made) == 1 then
			redis.call('RENAME', made, key)
		end
	end
	redis.call('HSET', KEYS[3], 'declaration', ARGV[2])
	redis.call('HDEL', KEYS[3], 'adopted')
end
return 0
