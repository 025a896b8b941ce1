-- What the scripts of a ring begin with.
--
-- KEYS[1]  sorted set: every item. Below 0 the score is its place among those that wait, from
--          0 on the millisecond, by the clock of the ring, in which its lease ends
-- KEYS[2]  hash: the id of the lease of each leased item; its field '' is the last time by
--          the clock of the ring, and by how much that is ahead of the server's

-- checkKinds raises an error where a key holds something else, before anything is written.
local function checkKinds()
	redis.call('ZCARD', KEYS[1])
	redis.call('HLEN', KEYS[2])
end

-- ringTime returns the time by the clock of the ring, and by how much it is ahead of the
-- server's. It never goes back: if the server's clock does, or that of another server counts
-- after a failover, leases last as long as they would have.
local function ringTime()
	local server = clock()
	local last, ahead = string.match(redis.call('HGET', KEYS[2], '') or '', '^(%d+) (%d+)$')
	last, ahead = tonumber(last or 0), tonumber(ahead or 0)
	if server + ahead < last then
		ahead = last - server
		redis.call('HDEL', KEYS[2], '') -- after a removal a server lets a script go on when its memory is full
		redis.call('HSET', KEYS[2], '', string.format('%.0f %.0f', last, ahead))
	end
	return server + ahead, ahead
end

-- behind returns the place behind all items that wait.
local function behind()
	local last = redis.call('ZREVRANGEBYSCORE', KEYS[1], '(0', '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
	return (tonumber(last[2]) or -9e15) + 1
end

-- first returns the first item that waits, or nil.
local function first()
	return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(0', 'LIMIT', 0, 1)[1]
end

-- lease leases an item to id for some milliseconds. It begins with a removal, see ringTime.
local function lease(item, id, milliseconds)
	local now, ahead = ringTime()
	redis.call('ZREM', KEYS[1], item)
	redis.call('HSET', KEYS[2], item, id, '', string.format('%.0f %.0f', now, ahead))
	-- One more: the current millisecond may be nearly over.
	redis.call('ZADD', KEYS[1], now + 1 + milliseconds, item)
end

-- release ends the lease of an item, which then waits behind all others.
local function release(item)
	redis.call('HDEL', KEYS[2], item)
	redis.call('ZREM', KEYS[1], item)
	redis.call('ZADD', KEYS[1], behind(), item)
end
