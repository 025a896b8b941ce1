-- Reads the ids of a part of a set of follows, newest first, as one string: much less work
-- for the program than an array with the scores.
-- KEYS[1]   the sorted set, scored by time
-- ARGV[1]   the score of the entry before the first
-- ARGV[2]   its id
-- ARGV[3]   the score of the last entry; empty: the part ends with the set
-- ARGV[4]   its id
-- ARGV[5]   leave out later entries; empty: none
-- ARGV[6]   how many to return
-- Reply     the ids with commas between them, the last id, its score; nothing if there
--           are none
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
