-- Removes the string that takes the place of `users` on a Cluster. Repeating it changes
-- nothing.
-- KEYS[1]   `users`
-- ARGV[1]   the string
-- Reply     1 when it was there, else 0
if redis.call('TYPE', KEYS[1])['ok'] == 'string' and redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
