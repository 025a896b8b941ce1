-- Adds a post to its author's profile and returns the posts that are no longer among the newest
-- posts. A repetition returns more posts, because others may have been added since.
-- KEYS[1]   the profile: a sorted set of post ids, scored by id
-- ARGV[1]   the id of the post
-- ARGV[2]   the number of posts that count as the newest
-- Reply     ids that are not among the newest
local last = tonumber(ARGV[2])
if redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1]) == 0 then
  last = 2 * last - 1
end
return redis.call('ZREVRANGE', KEYS[1], ARGV[2], last)
