-- Records the texts of a user that the search index may have. Idempotent.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the recorded texts, as the caller has read them; empty for none
-- ARGV[2]   the texts to record; empty for none
-- Reply     1 if the texts are recorded; 0 if other texts were, or if the user does not exist
if redis.call('HEXISTS', KEYS[1], 'username') == 0 then
  return 0
end
local recorded = redis.call('HGET', KEYS[1], 'searched') or ''
if recorded ~= ARGV[1] and recorded ~= ARGV[2] then
  return 0
end
if ARGV[2] == '' then
  redis.call('HDEL', KEYS[1], 'searched')
else
  redis.call('HSET', KEYS[1], 'searched', ARGV[2])
end
return 1
