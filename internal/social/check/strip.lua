-- Leaves nothing of a deleted post but its stub, or deletes a repost.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the sorted set of those who like it
-- KEYS[3]   the sorted set of those who have reposted it
-- KEYS[4]   the list of its earlier texts
-- ARGV[1]   the time now, to delete a repost; else empty
-- ARGV[2]   the post that the repost repeats
-- Reply     1 when something was removed, else 0
local gone = 0
if redis.call('HEXISTS', KEYS[1], 'deleted') == 0 then
  if ARGV[1] == '' or redis.call('HGET', KEYS[1], 'repost_of') ~= ARGV[2] then
    return 0
  end
  redis.call('HSET', KEYS[1], 'deleted', ARGV[1])
  gone = 1
end
gone = gone + redis.call('HDEL', KEYS[1], 'body', 'edited', 'likes', 'reposts')
gone = gone + redis.call('UNLINK', KEYS[2], KEYS[3], KEYS[4])
return gone > 0 and 1 or 0
