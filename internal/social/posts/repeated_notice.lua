-- Chooses which of the calls that publish the same text notifies people: the first that has
-- published it.
-- KEYS[1]   string: the post, `<id> <time>`, and then `.0` and the call. It expires
-- ARGV[1]   the post, as the calls have found it
-- ARGV[2]   this call
-- ARGV[3]   for how long, in milliseconds
-- Reply     1 when this call notifies, also after a repetition; 0 when another one does
local has = redis.call('GET', KEYS[1])
local chosen = ARGV[1] .. '.0' .. ARGV[2]
if not has or has == ARGV[1] then
  redis.call('SET', KEYS[1], chosen, 'PX', ARGV[3])
elseif has ~= chosen and string.sub(has, 1, #ARGV[1] + 2) == ARGV[1] .. '.0' then
  return 0
end
return 1
