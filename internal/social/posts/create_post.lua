-- Writes a new post unless the key is in use, and adds its fan-out to the unfinished tasks.
-- KEYS[1]   the hash of the post
-- KEYS[2]   the tasks; omitted on a Cluster, where they are in another slot, and for a post
--           without a task
-- ARGV[1]   the task of the post
-- ARGV[2]   the time for which the caller holds the task, in microseconds
-- ARGV[3..] field, value, field, value ...
-- Reply     1 if the hash now holds this post, including when an earlier attempt of the same
--           write succeeded and the text was edited since; 2 if the post was deleted since,
--           which leaves its author and time; 0 if the key holds something else;
--           then the token of the task, empty without a task, and the replication history; then
--           the time in milliseconds if this call wrote the post
local function task()
  return KEYS[2] and lease(KEYS[2], 0, ARGV[1], now() + ARGV[2]) or ''
end
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'none' and kind ~= 'hash' then
  return {'0', ''}
end
if kind == 'hash' then
  local since = redis.call('HMGET', KEYS[1], 'edited', 'deleted')
  for i = 3, #ARGV, 2 do
    local field = ARGV[i]
    local changed = field == 'body' and since[1] or since[2] and field ~= 'user_id' and field ~= 'time'
    if not changed and redis.call('HGET', KEYS[1], field) ~= ARGV[i + 1] then
      return {'0', ''}
    end
  end
  if since[2] then
    return {'2', task(), (history())}
  end
end
local token, id = task(), (history())
if kind == 'none' then
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], unpack(ARGV, 3))
  return {'1', token, id, string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))}
end
return {'1', token, id}
