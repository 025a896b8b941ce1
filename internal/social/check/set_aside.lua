-- Renames a key that cannot be read.
-- KEYS[1]   the key
-- KEYS[2]   the new name of the key, in the same slot
-- ARGV[1]   the type of the key
-- ARGV[2]   optional: a field of the hash
-- ARGV[3]   the value of the field; empty if the field is missing
-- Reply     1 if the key was renamed, 0 if its type or value differs, -1 if the new name is in use
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
