-- Writes a new hash, never over another one.
-- KEYS[1]   the hash
-- ARGV      field, value, field, value ...
-- Reply     1 when the hash now holds these fields, also when an earlier try
--           of the same write had got through; 0 when it holds something else
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], unpack(ARGV))
  return 1
end
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then
    return 0
  end
end
return 1
