-- Returns the items whose lease is not over.
--
-- KEYS[1]  list: the ring
-- KEYS[2]  hash: every item, with the name of its lease or nothing
-- KEYS[3]  sorted set: leased items, scored by the end of their lease in
--          milliseconds
--
-- Reply  each item and the end of its lease, in turn
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. now, '+inf', 'WITHSCORES')
