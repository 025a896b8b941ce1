-- Turns a home timeline into that of a single server: without end mark and expiry.
-- KEYS[1]  the list
-- Reply    1 if it would have expired
if redis.call('TYPE', KEYS[1])['ok'] ~= 'list' then
  return 0
end
while (tonumber(redis.call('LINDEX', KEYS[1], -1) or 1) or 1) < 1 do
  redis.call('RPOP', KEYS[1])
end
return redis.call('PERSIST', KEYS[1])
