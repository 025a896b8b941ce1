-- Removes users from the likers or the reposters of a post. Idempotent.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the sorted set
-- ARGV[1]   the field with the size of the set
-- ARGV[2..] user, score, user, score ...; a user whose score differs stays
-- Reply     the number of removed users
local removed = 0
for i = 2, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[2], ARGV[i])
  if score and tonumber(score) == tonumber(ARGV[i + 1]) then
    removed = removed + redis.call('ZREM', KEYS[2], ARGV[i])
  end
end
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], ARGV[1], redis.call('ZCARD', KEYS[2]))
end
return removed
