-- Changes fields of an existing user. Idempotent.
-- KEYS[1]   the hash of the user
-- ARGV      field, value, field, value ...; an empty value removes the field
-- Reply     1, or 0 if the user does not exist
if redis.call('HEXISTS', KEYS[1], 'username') == 0 then
  return 0
end
for i = 1, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
return 1
