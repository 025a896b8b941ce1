-- Removes a case.
-- KEYS[1]   hash: the case
-- KEYS[2]   sorted set: the targets of open cases
-- ARGV[1]   the target
-- Reply     0: no report is left
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 0
