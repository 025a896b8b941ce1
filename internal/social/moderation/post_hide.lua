-- Hides a post, or shows it again.
-- KEYS[1]   hash: the post
-- ARGV[1]   the time (Unix seconds), a space and a message for the author; empty to
--           show the post again
-- Reply     1 if the post was changed; 2 if it was already hidden with that message, or
--           already shown; 0 if there is no such post, or it is deleted
if redis.call('HEXISTS', KEYS[1], 'user_id') == 0 or redis.call('HEXISTS', KEYS[1], 'deleted') == 1 then
  return 0
end
if ARGV[1] == '' then
  return 2 - redis.call('HDEL', KEYS[1], 'hidden')
end
local function message(hidden)
  return hidden and string.match(hidden, '^%S* (.*)$')
end
if message(redis.call('HGET', KEYS[1], 'hidden')) == message(ARGV[1]) then
  return 2
end
redis.call('HSET', KEYS[1], 'hidden', ARGV[1])
return 1
