-- Ends a mute or a block. Idempotent.
-- KEYS[1]   the users whom a user has muted or blocked, scored by the end of the mute or block
-- ARGV[1]   the id of the other user
-- ARGV[2]   the current time
-- Reply     1 if the mute or block existed, else 0
remove_ended(KEYS[1], ARGV[2])
return redis.call('ZREM', KEYS[1], ARGV[1])
