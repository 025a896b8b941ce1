-- Removes a dead letter, and the stream if it is empty then.
-- KEYS[1]   the stream of dead letters
-- ARGV[1]   the id of the entry
-- Reply     1, or 0 if the entry was removed before
local removed = redis.call('XDEL', KEYS[1], ARGV[1])
if redis.call('XLEN', KEYS[1]) == 0 then
  redis.call('DEL', KEYS[1])
end
return removed
