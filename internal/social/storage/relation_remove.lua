-- Ends a mute or a block. Repeating it changes nothing.
-- KEYS[1]   the users that a user has muted, or blocked, scored by the end
-- KEYS[2]   the users who have blocked the other one; not passed for a mute, nor on a
--           Cluster, where it is in another slot
-- ARGV[1]   the id of the user
-- ARGV[2]   the id of the other one
-- ARGV[3]   the time
-- Reply     1 when there was one, else 0
remove_ended(KEYS[1], ARGV[3])
local was = redis.call('ZREM', KEYS[1], ARGV[2])
if KEYS[2] then
  remove_ended(KEYS[2], ARGV[3])
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return was
