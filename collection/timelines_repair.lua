-- Puts a list in order: largest id first, each id once, no longer than allowed,
-- without some members. When it expires does not change.
-- KEYS[1]   the list
-- ARGV[1]   how many ids it may have
-- ARGV[2..] the members to remove
-- Reply     1 when something was wrong, else 0
-- Work      O(n log n) in the length of the list, which is bounded
if redis.call('TYPE', KEYS[1])['ok'] ~= 'list' then
  return 0
end
local most = tonumber(ARGV[1])
local changed = 0
if redis.call('LLEN', KEYS[1]) > most then
  redis.call('LTRIM', KEYS[1], 0, most - 1)
  changed = 1
end
local seen = {}
for i = 2, #ARGV do
  seen[ARGV[i]] = true
end
local ids = {}
local last = math.huge
for _, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local n = tonumber(id)
  if not n or seen[id] then
    changed = 1
  else
    seen[id] = true
    ids[#ids + 1] = id
    if n > last then
      changed = 1
    end
    last = n
  end
end
if changed == 0 then
  return 0
end
table.sort(ids, function(a, b) return tonumber(a) > tonumber(b) end)
local left = redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
for i = 1, #ids, 500 do
  redis.call('RPUSH', KEYS[1], unpack(ids, i, math.min(i + 499, #ids)))
end
if left >= 0 then
  redis.call('PEXPIRE', KEYS[1], left)
end
return 1
