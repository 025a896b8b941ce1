-- Shared by the finish scripts of all rebuilds. A finish script is run until it replies 1. Each
-- step catches up with some of the ids that writers recorded. The step that leaves no recorded ids
-- also replaces the old data; otherwise writers could record more ids before the next step.

-- finishing begins a step. After the first step Fill is refused, since its data would be older
-- than the recorded changes. If another run is in progress, finishing returns an error, which the
-- caller must return.
local function finishing(run)
	local name = run .. ' finishing'
	local refusal = replaced(KEYS[3], run) and replaced(KEYS[3], name)
	if refusal then
		return refusal
	end
	redis.call('HSET', KEYS[3], 'rebuild', name)
end

-- changes pops at most `limit` recorded ids, and stops after `bytes` bytes of ids. Without
-- `bytes`, all ids must be short.
local function changes(limit, bytes)
	if not bytes then
		return redis.call('SPOP', KEYS[6], limit)
	end
	local ids = {}
	while #ids < limit and bytes > 0 do
		local id = redis.call('SPOP', KEYS[6])
		if not id then
			break
		end
		ids[#ids + 1], bytes = id, bytes - #id
	end
	return ids
end

-- finished ends a step: if no recorded ids are left, each new key replaces the old key. It returns
-- the reply of the script: 1 if the new data is in place.
--
-- pairs  old key, new key, ...
local function finished(pairs)
	if redis.call('EXISTS', KEYS[6]) == 1 then
		return 0
	end
	for i = 1, #pairs, 2 do
		redis.call('UNLINK', pairs[i]) -- RENAME would free a large key in this step
		if redis.call('EXISTS', pairs[i + 1]) == 1 then
			redis.call('RENAME', pairs[i + 1], pairs[i])
		end
	end
	redis.call('HDEL', KEYS[3], 'rebuild', 'until')
	return 1
end
