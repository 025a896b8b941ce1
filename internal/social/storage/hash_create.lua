-- Writes a new hash unless the key is in use.
-- KEYS[1]   the hash
-- ARGV      field, value, field, value ...
-- Reply     1 if the hash now holds these fields, including when an earlier attempt of the
--           same write succeeded; 0 if the hash has other values, or the key has another type
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then
  redis.call('HSET', KEYS[1], unpack(ARGV))
  return 1
end
if kind ~= 'hash' then
  return 0
end
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then
    return 0
  end
end
return 1
