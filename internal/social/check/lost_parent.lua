-- Writes a stub in place of a post that was lost but has replies.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the set of replies to the post
-- KEYS[3..] other keys of the post, which are removed
-- ARGV[1]   the current time
-- ARGV[2]   the root of the conversation; empty if the post is the root
-- Reply     1 if the stub was written, else 0
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[1], 'user_id', '0', 'deleted', ARGV[1], 'replies', redis.call('SCARD', KEYS[2]))
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], 'root', ARGV[2])
end
redis.call('UNLINK', unpack(KEYS, 3))
return 1
