-- What the last script of a rebuild has in common. It is run until it replies 1: each
-- time it catches up with some of the ids that writers noted, and once none is left it
-- puts the new data in the place of the old, in the same step, since writers could
-- otherwise keep ahead of it.

-- finishing begins a step. From the first one on nothing may be filled in that is older
-- than what is caught up with. It returns an error for the caller to reply where another
-- run is under way.
local function finishing(run)
	local name = run .. ' finishing'
	local refusal = replaced(KEYS[3], run) and replaced(KEYS[3], name)
	if refusal then
		return refusal
	end
	redis.call('HSET', KEYS[3], 'rebuild', name)
end

-- changes takes ids that writers noted: at most so many, and no more after so many bytes.
-- Without bytes all are short.
local function changes(most, bytes)
	if not bytes then
		return redis.call('SPOP', KEYS[6], most)
	end
	local ids = {}
	while #ids < most and bytes > 0 do
		local id = redis.call('SPOP', KEYS[6])
		if not id then
			break
		end
		ids[#ids + 1], bytes = id, bytes - #id
	end
	return ids
end

-- finished ends a step: where nothing is left to catch up with, each new key replaces the
-- old one. It returns the reply of the script, 1 when the new data are in place.
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
