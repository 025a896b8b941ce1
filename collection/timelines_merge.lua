-- Puts many ids on one list, which stays in order, largest id first. Ids that are
-- there already change nothing.
-- KEYS[1]   the list
-- ARGV[1]   how many ids the list keeps
-- ARGV[2]   by how many it may be longer before it is trimmed
-- ARGV[3]   1: a list that does not exist stays so
-- ARGV[4..] the ids, largest first, each once
-- Reply     how many ids were added; -1 for a key of another type
-- Work      O(n) in the length of the list and the number of ids, both bounded
local max, slack = tonumber(ARGV[1]), tonumber(ARGV[2])
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind ~= 'list' and kind ~= 'none' then
  return -1
end
if kind == 'none' and ARGV[3] == '1' then
  return 0
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
redis.call('DEL', KEYS[1])
for from = 1, count, 500 do
  redis.call('RPUSH', KEYS[1], unpack(all, from, math.min(from + 499, count)))
end
return added
