-- Sorts a list, largest ID first, removes duplicates and some members, and limits its length. The
-- expiry of the list does not change.
-- KEYS[1]   the list
-- ARGV[1]   maximum number of IDs
-- ARGV[2..] the members to remove
-- Reply     1 if the list was changed, otherwise 0
-- Work      O(n log n) in the length of the list. Of a long list, only a bounded part is read
--           at either end, and the middle is dropped: whether a program writes a list in
--           ascending or descending order, the newest IDs are at one end
if redis.call('TYPE', KEYS[1])['ok'] ~= 'list' then
  return 0
end
local max = tonumber(ARGV[1])
local ends = 2 * max + 1000
local seen = {}
for i = 2, #ARGV do
  seen[ARGV[i]] = true
end

-- number returns the value of a member in the format of this package, an integer that Lua compares
-- exactly, or nil for any other member. A number below 1 is not an ID, but the caller may use it
-- to mark the end of a list.
local function number(member)
  local n = tonumber(member)
  if n and math.abs(n) <= 2 ^ 53 and string.format('%.0f', n) == member and member ~= '-0' then
    return n
  end
end

local ids = {}
local length = redis.call('LLEN', KEYS[1])
local changed = length > max and 1 or 0
local last = math.huge

local function read(from, to)
  for _, member in ipairs(redis.call('LRANGE', KEYS[1], from, to)) do
    local n = number(member)
    if not n or seen[member] then
      changed = 1
    else
      seen[member] = true
      ids[#ids + 1] = n
      if n > last then
        changed = 1
      end
      last = n
    end
  end
end

read(0, ends - 1)
if length > ends then
  read(math.max(ends, length - ends), -1)
end
if changed == 0 then
  return 0
end
table.sort(ids)
local count = math.min(#ids, max)
local newest = {}
for i = 1, count do
  newest[i] = string.format('%.0f', ids[#ids + 1 - i])
end
local left = redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
for i = 1, count, 500 do
  redis.call('RPUSH', KEYS[1], unpack(newest, i, math.min(i + 499, count)))
end
if left >= 0 then
  redis.call('PEXPIRE', KEYS[1], left)
end
return 1
