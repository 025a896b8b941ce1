-- Puts a timeline in order: newest first, each post once, no longer than it may
-- be, without some posts that do not exist.
-- KEYS[1]   the timeline (a list of post ids)
-- ARGV[1]   how many posts it may have
-- ARGV[2..] what is to be removed
-- Reply     1 when something was wrong, else 0
-- Work      O(n log n) in the length of the timeline, which is bounded
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
redis.call('DEL', KEYS[1])
for i = 1, #ids, 500 do
  redis.call('RPUSH', KEYS[1], unpack(ids, i, math.min(i + 499, #ids)))
end
return 1
