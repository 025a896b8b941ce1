-- Removes a case.
-- KEYS[1]   hash: the case; see report_add.lua
-- KEYS[2]   sorted set: the targets of open cases
-- ARGV[1]   the target
-- Reply     the reporters
local reporters = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  reporters[#reporters + 1] = string.match(field, '^by:(%d+)$')
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return reporters
