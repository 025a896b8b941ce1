-- Starts an import, unless the user has another one running.
-- KEYS[1]   the hash of the import
-- KEYS[2]   the list of its entries
-- ARGV[1]   the id of the import
-- ARGV[2]   the kind of the import
-- ARGV[3]   the time now
-- ARGV[4..] the entries, each after its mark
-- Reply     1 if the import is running, also after a repetition; 0 if another import is running
local current = redis.call('HMGET', KEYS[1], 'id', 'state')
if current[2] == 'running' then
  return current[1] == ARGV[1] and 1 or 0
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'kind', ARGV[2], 'state', 'running', 'began', ARGV[3],
  'total', #ARGV - 3, 'done', 0, 'failed', 0)
for from = 4, #ARGV, 1000 do
  redis.call('RPUSH', KEYS[2], unpack(ARGV, from, math.min(from + 999, #ARGV)))
end
return 1
