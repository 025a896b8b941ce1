-- Renews the lease of a consumer on jobs that it still has, or ends it.
-- KEYS[1]   the stream
-- ARGV[1]   the group
-- ARGV[2]   the consumer
-- ARGV[3]   how many milliseconds ago the lease was renewed: 0 renews it, more than its
--           length ends it
-- ARGV[4]   how often the jobs were delivered; empty: as before
-- ARGV[5..] their ids
-- Reply     the ids of those that the consumer has
local kept = {}
if redis.call('EXISTS', KEYS[1]) == 0 then
  return kept
end
for i = 5, #ARGV do
  local pending = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)
  if not pending.err and pending[1] and pending[1][2] == ARGV[2] then
    kept[#kept + 1] = ARGV[i]
    if ARGV[4] == '' then
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'IDLE', ARGV[3], 'JUSTID')
    else
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'IDLE', ARGV[3], 'RETRYCOUNT', ARGV[4], 'JUSTID')
    end
  end
end
return kept
