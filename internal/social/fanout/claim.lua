-- Takes an unfinished fan-out that nobody has worked on for a while.
-- KEYS[1]   the sorted set of unfinished fan-outs, by time of progress
-- ARGV[1]   the post's id
-- ARGV[2]   the latest time of progress at which it counts as left behind
-- ARGV[3]   the time now
-- Reply     1 when the caller has it now, 0 when another took it
local at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not at or tonumber(at) > tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
