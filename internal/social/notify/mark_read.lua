-- Records up to which entry a user has seen the notifications. It never goes back, so repeating
-- it, or viewing a page that was opened long ago, changes nothing.
-- KEYS[1]   the user
-- ARGV[1]   the id of the entry: its milliseconds
-- ARGV[2]   and its number within the millisecond
-- Reply     1 if it moved forward, else 0; 0 if there is no such user
local seen, name = unpack(redis.call('HMGET', KEYS[1], 'notifications_seen', 'username'))
if not name then return 0 end
local ms, seq = string.match(seen or '', '^(%d+)%-(%d+)$')
ms, seq = tonumber(ms or -1), tonumber(seq or -1)
local newms, newseq = tonumber(ARGV[1]), tonumber(ARGV[2])
if ms > newms or ms == newms and seq >= newseq then return 0 end
redis.call('HSET', KEYS[1], 'notifications_seen', ARGV[1] .. '-' .. ARGV[2])
return 1
