-- Hides a post, or shows it again.
-- KEYS[1]   hash: the post
-- ARGV[1]   the time (unix seconds), a space and a message for the author; empty to
--           show it again
-- Reply     1, or 0 when there is no such post, or it is deleted
if redis.call('HEXISTS', KEYS[1], 'user_id') == 0 or redis.call('HEXISTS', KEYS[1], 'deleted') == 1 then
  return 0
end
if ARGV[1] == '' then
  redis.call('HDEL', KEYS[1], 'hidden')
else
  redis.call('HSET', KEYS[1], 'hidden', ARGV[1])
end
return 1
