-- Marks a database as being restored, even if the server is out of memory: its contents are
-- about to be deleted.
-- KEYS[1]   the mark
-- ARGV[1]   the value of the mark
-- Reply     1
--
-- A server that is out of memory refuses commands that need memory, unless the script has
-- already written. DEL needs no memory.
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1])
return 1
