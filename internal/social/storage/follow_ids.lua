-- Reads the ids in a part of a set of follows, newest first, as one string, which is much
-- cheaper for the program than an array with the scores.
-- KEYS[1]   the sorted set, scored by time
-- ARGV[1]   the score of the entry before the first one
-- ARGV[2]   the id of the entry before the first one
-- ARGV[3]   the score of the last entry; empty if the part extends to the end of the set
-- ARGV[4]   the id of the last entry
-- ARGV[5]   the time after which entries are skipped; empty for no limit
-- ARGV[6]   the maximum number of ids to return
-- Reply     the ids, separated by commas, the last id, and its score; nothing if there are none
local from = place(KEYS[1], ARGV[1], ARGV[2])
if ARGV[5] ~= '' then
  from = math.max(from, redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[5], '+inf'))
end
local to = from + tonumber(ARGV[6])
if ARGV[3] ~= '' then
  to = math.min(to, place(KEYS[1], ARGV[3], ARGV[4]))
end
if from >= to then
  return {}
end
local ids = redis.call('ZREVRANGE', KEYS[1], from, to - 1)
if #ids == 0 then
  return {}
end
local last = ids[#ids]
return {table.concat(ids, ','), last, redis.call('ZSCORE', KEYS[1], last)}
