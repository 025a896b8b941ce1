-- Writes something for WAIT to wait for, and leaves no key.
-- KEYS[1]   an unused key in a slot of this server
-- Reply     the identity of the replication history, and the number of replicas
local id, replicas = identity()
if replicas > 0 then
  redis.call('DEL', KEYS[1])
  redis.call('SET', KEYS[1], '', 'PX', 1)
  redis.call('DEL', KEYS[1])
end
return {id, replicas}
