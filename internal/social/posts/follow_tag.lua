-- Adds a tag to the tags that a user follows. Idempotent.
-- KEYS[1]   the tags that the user follows, by time
-- ARGV[1]   the tag
-- ARGV[2]   the time, in Unix seconds
-- ARGV[3]   the maximum number of followed tags
-- Reply     1, or 0 if the maximum is reached
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
    return 0
  end
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
end
return 1
