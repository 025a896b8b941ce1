-- Sets a field that is missing from an existing hash.
-- KEYS[1]   the hash
-- ARGV[1]   the field
-- ARGV[2]   the value
-- Reply     1 if the field was set, else 0
if redis.call('TYPE', KEYS[1])['ok'] ~= 'hash' then
  return 0
end
return redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
