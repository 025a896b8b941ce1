-- Delivers jobs that no consumer has had yet.
-- KEYS[1]   the stream
-- ARGV[1]   the group, which is created where somebody has removed it
-- ARGV[2]   the consumer
-- ARGV[3]   how many at the most
-- Reply     {id, fields} of each
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
local function read()
  return redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', ARGV[3], 'STREAMS', KEYS[1], '>')
end
local got = read()
if got and got.err and string.find(got.err, 'NOGROUP', 1, true) then
  redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0')
  got = read()
end
if got and got.err then
  return got
end
return got and got[1] and got[1][2] or {}
