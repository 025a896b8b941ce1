-- Adds work to a ledger, also where the memory of the server is full: what is noted may
-- free memory, as a deletion does.
-- KEYS[1]   the sorted set of unfinished work, by time of renewal
-- ARGV[1]   the member
-- ARGV[2]   the time now
-- Reply     1
--
-- A server without memory refuses a command that needs some, unless the script has
-- written before; the first write needs none.
redis.call('ZREM', KEYS[1], '')
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 1
