-- Records the newest notification that a user has seen. The recorded id never decreases, so
-- repeating the script, or viewing an old page, changes nothing.
-- KEYS[1]   the hash of the user
-- ARGV[1]   the milliseconds of the notification's id
-- ARGV[2]   the number of the notification within the millisecond
-- Reply     1 if the recorded id increased, else 0; 0 if the user does not exist
local seen, name = unpack(redis.call('HMGET', KEYS[1], 'notifications_seen', 'username'))
if not name then return 0 end
local ms, seq = string.match(seen or '', '^(%d+)%-(%d+)$')
ms, seq = tonumber(ms or -1), tonumber(seq or -1)
local newms, newseq = tonumber(ARGV[1]), tonumber(ARGV[2])
if ms > newms or ms == newms and seq >= newseq then return 0 end
redis.call('HSET', KEYS[1], 'notifications_seen', ARGV[1] .. '-' .. ARGV[2])
return 1
