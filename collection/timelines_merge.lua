-- Puts many ids on one list, which stays in order, largest id first. Ids that are
-- there already change nothing, and neither does when the list expires.
-- KEYS[1]   the list
-- ARGV[1]   how many ids the list keeps
-- ARGV[2]   by how many it may be longer before it is trimmed
-- ARGV[3]   1: a list that does not exist stays so
-- ARGV[4..] the ids, largest first, each once
-- Reply     how many ids were added; -1 for a key of another type
-- Work      O(n) in the number of ids, and in the length of the list where one of them is
--           older than its newest; both are bounded
local max, slack = tonumber(ARGV[1]), tonumber(ARGV[2])
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'list' and kind ~= 'none' then
  return -1
end
if kind == 'none' and ARGV[3] == '1' then
  return 0
end
-- The usual case: the list has nothing newer than the oldest of them.
local newest = tonumber(redis.call('LINDEX', KEYS[1], 0) or '')
if newest and newest < tonumber(ARGV[#ARGV]) then
  local ids, length = {}, 0
  for k = #ARGV, 4, -1 do
    ids[#ids + 1] = ARGV[k]
  end
  for from = 1, #ids, 500 do
    length = redis.call('LPUSH', KEYS[1], unpack(ids, from, math.min(from + 499, #ids)))
  end
  if length > max + slack then
    redis.call('LTRIM', KEYS[1], 0, max - 1)
  end
  return #ids
end
local old = redis.call('LRANGE', KEYS[1], 0, -1)
local all, added, i = {}, 0, 1
local last = #old
for k = 4, #ARGV do
  local id = tonumber(ARGV[k])
  while i <= last and (tonumber(old[i]) or 0) > id do
    all[#all + 1] = old[i]
    i = i + 1
  end
  if old[i] ~= ARGV[k] then
    -- A full list has dropped what is smaller than all of it.
    if i > last and #all >= max then
      break
    end
    all[#all + 1] = ARGV[k]
    added = added + 1
  end
end
if added == 0 then
  return 0
end
while i <= last do
  all[#all + 1] = old[i]
  i = i + 1
end
local count = #all
if count > max + slack then
  count = max
end
local left = redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
for from = 1, count, 500 do
  redis.call('RPUSH', KEYS[1], unpack(all, from, math.min(from + 499, count)))
end
if left >= 0 then
  redis.call('PEXPIRE', KEYS[1], left)
end
return added
