-- Reads the segment of a term that has the place of an id.
--
-- KEYS[1]  dir of the term; [2] its seg
-- ARGV[1]  the id
--
-- Reply    {where the segment begins, the segment}, or {} if there is none

local base = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[1], '-inf', 'LIMIT', 0, 1)[1]
if not base then
	return {}
end
return {base, redis.call('HGET', KEYS[2], base) or ''}
