-- Renames a key that cannot be read.
-- KEYS[1]   the key
-- KEYS[2]   its new name, in the same slot
-- ARGV[1]   the type of the key
-- ARGV[2]   optional: a field of the hash and
-- ARGV[3]   its value, empty if it has none
-- Reply     1 if it was renamed, 0 if it no longer matches, -1 if the new name is in use
if redis.call('TYPE', KEYS[1])['ok'] ~= ARGV[1] then
  return 0
end
if ARGV[2] and (redis.call('HGET', KEYS[1], ARGV[2]) or '') ~= ARGV[3] then
  return 0
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return -1
end
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
