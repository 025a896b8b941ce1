-- Records the result of an entry of an import, or stops the import. An import that ends keeps
-- the entries that were not imported, until both keys expire.
-- KEYS[1]   the hash of the import
-- KEYS[2]   the list of its entries, at most 10,000
-- ARGV[1]   the id of the import; empty for the running one
-- ARGV[2]   the index of the entry, counted from 0, which equals the number of processed entries;
--           -1 to stop the import
-- ARGV[3]   the entry after its mark
-- ARGV[4]   1 if the entry was not imported, else 0
-- ARGV[5]   the mark of imported entries
-- ARGV[6]   after how many seconds the keys expire
-- Reply     1; 0 if the import is not running, or the entry is not the next one, as after a
--           repetition
local current = redis.call('HMGET', KEYS[1], 'id', 'state', 'done', 'total')
if current[2] ~= 'running' or ARGV[1] ~= '' and current[1] ~= ARGV[1] then
  return 0
end
local done, total, state = tonumber(current[3]), tonumber(current[4]), 'stopped'
if ARGV[2] ~= '-1' then
  if done ~= tonumber(ARGV[2]) then
    return 0
  end
  redis.call('LSET', KEYS[2], ARGV[2], ARGV[3])
  redis.call('HINCRBY', KEYS[1], 'failed', ARGV[4])
  if redis.call('HINCRBY', KEYS[1], 'done', 1) < total then
    return 1
  end
  state = 'done'
end
redis.call('HSET', KEYS[1], 'state', state)
local all = redis.call('LRANGE', KEYS[2], 0, -1)
redis.call('DEL', KEYS[2])
for _, entry in ipairs(all) do
  if string.sub(entry, 1, 1) ~= ARGV[5] then
    redis.call('RPUSH', KEYS[2], entry)
  end
end
redis.call('EXPIRE', KEYS[1], ARGV[6])
redis.call('EXPIRE', KEYS[2], ARGV[6])
return 1
