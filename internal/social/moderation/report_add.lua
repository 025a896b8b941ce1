-- Adds a report about a target, unless the reporter has an open one about it.
-- KEYS[1]   hash: the case: `by:<uid>` -> the report; `staff` -> 1 for a target with a role;
--           `about` -> the person, or the author of the post; `texts` -> the texts of the post as
--           it was reported, a JSON array, or empty
-- KEYS[2]   sorted set: the targets of open cases, scored by the first report
-- ARGV[1]   the target
-- ARGV[2]   the reporter
-- ARGV[3]   the report
-- ARGV[4]   the time, in Unix milliseconds
-- ARGV[5]   1 if the target has a role, else 0
-- ARGV[6]   the maximum number of reports in a case
-- ARGV[7]   the person, or the author of the post
-- ARGV[8]   the time of the post or of its last edit, a space, and its text; empty for no text
-- ARGV[9]   how many texts a case keeps: the first ones, and the latest
-- Reply     1 if the report was added, 0 if the reporter already had one, or the case is full;
--           then `staff` of the case, as set by its first report
redis.call('HSETNX', KEYS[1], 'staff', ARGV[5])
redis.call('HSETNX', KEYS[1], 'about', ARGV[7])
redis.call('HSETNX', KEYS[1], 'texts', '')
redis.call('ZADD', KEYS[2], 'NX', ARGV[4], ARGV[1])
local case = redis.call('HMGET', KEYS[1], 'staff', 'texts')
local staff = case[1] == '1' and 1 or 0
local full = redis.call('HLEN', KEYS[1]) >= ARGV[6] + 3 and ARGV[2] ~= ARGV[7] -- an appeal is always added
if full or redis.call('HSETNX', KEYS[1], 'by:' .. ARGV[2], ARGV[3]) == 0 then
  return {0, staff}
end
if ARGV[8] ~= '' then
  local texts = case[2] ~= '' and cjson.decode(case[2]) or {}
  if texts[#texts] ~= ARGV[8] then
    texts[math.min(#texts + 1, tonumber(ARGV[9]))] = ARGV[8]
    redis.call('HSET', KEYS[1], 'texts', cjson.encode(texts))
  end
end
return {1, staff}
