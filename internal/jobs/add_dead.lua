-- Adds a dead letter.
-- KEYS[1]   the stream of dead letters
-- ARGV[1]   how many it keeps
-- ARGV[2]   the job
-- ARGV[3]   the last error
-- ARGV[4]   the time now
-- ARGV[5]   how often the job was tried
-- Reply     the id of the entry
--
-- The first write needs no memory; see add.lua.
redis.call('XDEL', KEYS[1], '0-1')
return redis.call('XADD', KEYS[1], 'MAXLEN', ARGV[1], '*', 'job', ARGV[2], 'error', ARGV[3], 'time', ARGV[4], 'tries', ARGV[5])
