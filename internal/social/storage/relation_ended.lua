-- Removes the entries of a sorted set whose end has passed, a thousand at most: their
-- score is an end.
local function remove_ended(key, now)
  local ended = redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 1000)
  if #ended > 0 then
    redis.call('ZREM', key, unpack(ended))
  end
end
