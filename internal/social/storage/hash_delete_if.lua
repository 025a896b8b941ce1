-- Removes a field from a hash if the field has a given value.
-- KEYS[1]   the hash
-- ARGV[1]   the field
-- ARGV[2]   the value
-- Reply     1 if the field was removed, else 0
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
  return 0
end
return redis.call('HDEL', KEYS[1], ARGV[1])
