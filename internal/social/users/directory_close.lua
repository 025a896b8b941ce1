-- Takes `users` away from processes of an earlier version: the names move to another key
-- of the same slot, and a string is in their place, which these processes cannot write to.
-- Repeating it changes nothing.
-- KEYS[1]   `users`
-- KEYS[2]   where its names go
-- ARGV[1]   the string
-- Reply     1, or 0 while the second key still has names of an earlier call, which must
--           be copied and removed first
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'hash' then
  if redis.call('EXISTS', KEYS[2]) == 1 then
    return 0
  end
  redis.call('RENAME', KEYS[1], KEYS[2])
  kind = 'none'
end
if kind == 'none' then
  redis.call('SET', KEYS[1], ARGV[1])
end
return 1
