-- Adds follows whose time is not known, unless the conversion is finished: then
-- the site is in use, and a missing follow was ended by its follower. Repeating
-- it changes nothing.
-- KEYS[1]   the sorted set of followers or followed
-- KEYS[2]   the layout version, on a single server; on a Cluster it is in
--           another slot, and the caller has checked it before
-- ARGV[1]   the layout version of a converted database
-- ARGV[2..] user ids, at most 1,000
-- Reply     1, or 0 when the conversion is finished
if KEYS[2] and redis.call('GET', KEYS[2]) == ARGV[1] then
  return 0
end
local add = {}
for i = 2, #ARGV do
  add[#add + 1] = 0
  add[#add + 1] = ARGV[i]
end
redis.call('ZADD', KEYS[1], 'NX', unpack(add))
return 1
