-- Records the standing of a user in the set of standings, as the latest change. A user in
-- good standing is recorded only after another standing.
-- KEYS[1]   sorted set: user ids, scored by the number of the change times 4, plus the
--           standing
-- ARGV[1]   the user
-- ARGV[2]   the standing: 0 good, 1 limited, 2 suspended, 3 closed
-- ARGV[3]   the time, in Unix milliseconds: the number of the change, unless the latest
--           change has the same or a higher number
-- Reply     1 if anything changed, else 0
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
local before = score and tonumber(score) % 4 or 0
if before == tonumber(ARGV[2]) then
  return 0
end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local number = tonumber(ARGV[3])
if last then
  number = math.max(number, math.floor(tonumber(last) / 4) + 1)
end
redis.call('ZADD', KEYS[1], string.format('%.0f', number * 4 + tonumber(ARGV[2])), ARGV[1])
return 1
