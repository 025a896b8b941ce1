-- Common start of the scripts of a ring.
--
-- KEYS[1]  sorted set: every item. A negative score is the place of a waiting item; any other
--          score is the end of a lease, in milliseconds by the clock of the ring
-- KEYS[2]  hash: the lease ID of each leased item; the field '' holds the last time by the
--          clock of the ring, and how far that clock is ahead of the server's clock

-- checkKinds raises an error if a key has another type, before anything is written.
local function checkKinds()
	redis.call('ZCARD', KEYS[1])
	redis.call('HLEN', KEYS[2])
end

-- ringTime returns the time by the clock of the ring, and how far that clock is ahead of the
-- server's clock. The clock of the ring never goes back, so leases keep their length if the
-- server's clock goes back, or a failover leads to a server whose clock is behind.
local function ringTime()
	local server = clock()
	local last, ahead = string.match(redis.call('HGET', KEYS[2], '') or '', '^(%d+) (%d+)$')
	last, ahead = tonumber(last or 0), tonumber(ahead or 0)
	if server + ahead < last then
		ahead = last - server
		redis.call('HDEL', KEYS[2], '') -- after a removal, a server lets a script continue when its memory is full
		redis.call('HSET', KEYS[2], '', string.format('%.0f %.0f', last, ahead))
	end
	return server + ahead, ahead
end

-- lastPlace returns the place behind all waiting items.
local function lastPlace()
	local last = redis.call('ZREVRANGEBYSCORE', KEYS[1], '(0', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
	return (tonumber(last[2]) or -9e15) + 1
end

-- first returns the first waiting item, or nil.
local function first()
	return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(0', 'LIMIT', 0, 1)[1]
end

-- lease leases an item to id for some milliseconds. It removes the item first; see ringTime.
local function lease(item, id, milliseconds)
	local now, ahead = ringTime()
	redis.call('ZREM', KEYS[1], item)
	redis.call('HSET', KEYS[2], item, id, '', string.format('%.0f %.0f', now, ahead))
	-- Add one, because the current millisecond may be nearly over.
	redis.call('ZADD', KEYS[1], now + 1 + milliseconds, item)
end

-- release ends the lease of an item and moves the item behind all waiting items.
local function release(item)
	redis.call('HDEL', KEYS[2], item)
	redis.call('ZREM', KEYS[1], item)
	redis.call('ZADD', KEYS[1], lastPlace(), item)
end
