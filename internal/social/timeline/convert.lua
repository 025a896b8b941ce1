-- Converts a home timeline for a single server: removes the end mark and the expiry.
-- KEYS[1]  the list
-- Reply    1 if the list had an expiry, else 0
if redis.call('TYPE', KEYS[1])['ok'] ~= 'list' then
  return 0
end
while (tonumber(redis.call('LINDEX', KEYS[1], -1) or 1) or 1) < 1 do
  redis.call('RPOP', KEYS[1])
end
return redis.call('PERSIST', KEYS[1])
