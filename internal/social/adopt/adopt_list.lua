-- Writes a timeline that does not exist yet.
-- KEYS[1]   the timeline (a list of post ids, newest first)
-- ARGV      the ids, at most 1,000
-- Reply     1 when it was written, 0 when the key exists
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('RPUSH', KEYS[1], unpack(ARGV))
return 1
