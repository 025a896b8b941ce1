-- Removes a member from a set of a post, and updates the counter of the set.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the set or sorted set
-- ARGV[1]   the field with the counter; empty if there is none
-- ARGV[2]   the member
-- ARGV[3]   the required score of the member; empty for any
-- Reply     1 if the member was removed, else 0
local sorted = redis.call('TYPE', KEYS[2])['ok'] == 'zset'
if ARGV[3] ~= '' and redis.call('ZSCORE', KEYS[2], ARGV[2]) ~= ARGV[3] then
  return 0
end
if redis.call(sorted and 'ZREM' or 'SREM', KEYS[2], ARGV[2]) == 0 then
  return 0
end
if ARGV[1] ~= '' and redis.call('HEXISTS', KEYS[1], 'user_id') == 1 then
  redis.call('HSET', KEYS[1], ARGV[1], redis.call(sorted and 'ZCARD' or 'SCARD', KEYS[2]))
end
return 1
