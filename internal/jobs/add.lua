-- Adds a job to a stream, and creates the group of its consumers with the stream. It
-- also works where the memory of the server is full: a job may free some.
-- KEYS[1]   the stream
-- ARGV[1]   the group
-- ARGV[2]   the job
-- Reply     the id of the entry
--
-- A server without memory refuses a command that needs some, unless the script has
-- written before; the first write needs none.
redis.call('XDEL', KEYS[1], '0-1')
local new = redis.call('EXISTS', KEYS[1]) == 0
local id = redis.call('XADD', KEYS[1], '*', 'job', ARGV[2])
if new then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0')
end
return id
