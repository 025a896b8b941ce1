-- Claims unfinished work of a dead process.
-- KEYS[1]   the sorted set of unfinished work, by time of renewal
-- ARGV[1]   the member
-- ARGV[2]   the latest time of renewal at which its process counts as dead
-- ARGV[3]   the time now
-- Reply     1 when the caller has the claim, 0 when another process has it
local at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not at or tonumber(at) > tonumber(ARGV[2]) then
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
