-- Reads a page of a set of follows, newest first, by cursor.
-- KEYS[1]   the sorted set, scored by time
-- ARGV[1]   the score of the last entry seen
-- ARGV[2]   the id of the last entry seen
-- ARGV[3]   the maximum number of entries to return
-- Reply     id, score, id, score ... of the entries after the last entry seen
local from = place(KEYS[1], ARGV[1], ARGV[2])
return redis.call('ZREVRANGE', KEYS[1], from, from + tonumber(ARGV[3]) - 1, 'WITHSCORES')
