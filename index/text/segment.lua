-- Reads the segment of a term that covers an id.
--
-- KEYS[1]  dir of the term; [2] its seg
-- ARGV[1]  the id
--
-- Reply    {base of the segment, segment}, or {} if there is none. A segment that is
--          lost, or whose score differs from its base, is empty

local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
local base, score = found[1], found[2]
if not base then
	return {}
end
return {base, tonumber(base) == tonumber(score) and redis.call('HGET', KEYS[2], base) or ''}
