-- Marks a database as one that is being restored, also where the memory of the server is full:
-- what is there is about to be deleted.
-- KEYS[1]   the mark
-- ARGV[1]   its value
-- Reply     1
--
-- A server without memory refuses a command that needs some, unless the script has
-- written before; the first write needs none.
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1])
return 1
