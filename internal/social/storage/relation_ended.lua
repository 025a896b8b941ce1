-- Removes at most a thousand members of a sorted set whose end, which is the score, has passed.
local function remove_ended(key, now)
  local ended = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 1000)
  if #ended > 0 then
    redis.call('ZREM', key, unpack(ended))
  end
end
