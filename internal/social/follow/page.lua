-- Reads a page of a set of follows, newest first, by cursor.
-- KEYS[1]   the sorted set, scored by time
-- ARGV[1]   the score of the last one seen
-- ARGV[2]   the id of the last one seen
-- ARGV[3]   how many to return
-- Reply     id, score, id, score ... of the entries after it
local from = redis.call('ZREVRANK', KEYS[1], ARGV[2])
if from and redis.call('ZSCORE', KEYS[1], ARGV[2]) == ARGV[1] then
  from = from + 1
else
  -- It was removed. Entries with the same score are in lexicographic order of
  -- their ids, so binary search finds its former place.
  local low = redis.call('ZCOUNT', KEYS[1], '(' .. ARGV[1], '+inf')
  local high = low + redis.call('ZCOUNT', KEYS[1], ARGV[1], ARGV[1])
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZREVRANGE', KEYS[1], middle, middle)[1] >= ARGV[2] then
      low = middle + 1
    else
      high = middle
    end
  end
  from = low
end
return redis.call('ZREVRANGE', KEYS[1], from, from + tonumber(ARGV[3]) - 1, 'WITHSCORES')
