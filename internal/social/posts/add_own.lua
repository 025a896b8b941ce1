-- Adds a post to the profile of its author, and returns what leaves the newest ones by
-- that. Repeating it returns more, because others can have been added since.
-- KEYS[1]   the profile: a sorted set of posts, scored by their ids
-- ARGV[1]   the id of the post
-- ARGV[2]   how many are the newest
-- Reply     ids that are not among the newest
local last = tonumber(ARGV[2])
if redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1]) == 0 then
  last = 2 * last - 1
end
return redis.call('ZREVRANGE', KEYS[1], ARGV[2], last)
