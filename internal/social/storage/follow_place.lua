-- Returns the number of entries of a set of follows, newest first, up to and including a cursor.
-- The cursor is the score and the id of an entry that once existed.
local function place(key, since, id)
  local rank = redis.call('ZREVRANK', key, id)
  if rank and redis.call('ZSCORE', key, id) == since then
    return rank + 1
  end
  -- The entry was removed. Entries with the same score are in lexicographic order of
  -- their ids, so binary search finds its former place.
  local low = redis.call('ZCOUNT', key, '(' .. since, '+inf')
  local high = low + redis.call('ZCOUNT', key, since, since)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZREVRANGE', key, middle, middle)[1] >= id then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

