-- Returns the last change, and appends an empty one if there is none.
--
-- KEYS 1 changes
-- ARGV 1 how many are kept
-- Reply its id

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
if last[1] then
	return last[1][1]
end
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'op', 'mark')
