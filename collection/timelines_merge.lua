-- Adds many IDs to one list, which stays sorted, largest ID first. IDs that the list already has
-- change nothing. The expiry of the list does not change.
-- KEYS[1]   the list
-- ARGV[1]   how many IDs the list keeps
-- ARGV[2]   how many more IDs the list may have before it is trimmed
-- ARGV[3]   1: do not create a missing list
-- ARGV[4..] the IDs, largest first, without duplicates
-- Reply     the number of added IDs; -1 for a key of another type
-- Work      O(n) in the number of IDs, plus the length of the list if an ID is not larger
--           than all IDs of the list; both are bounded
local max, slack = tonumber(ARGV[1]), tonumber(ARGV[2])
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'list' and kind ~= 'none' then
  return -1
end
if kind == 'none' and ARGV[3] == '1' then
  return 0
end
-- The usual case: all new IDs are larger than the IDs of the list.
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
    -- A full list has already dropped IDs that are smaller than all its IDs.
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
