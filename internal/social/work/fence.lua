-- Writes something, which WAIT then waits for, and leaves no key.
-- KEYS[1]   a key in a slot of this server that nothing uses
-- Reply     the identity of the history of writes, and how many replicas the server has
local id, replicas = identity()
if replicas > 0 then
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], '', 'PX', 1)
  redis.call('DEL', KEYS[1])
end
return {id, replicas}
