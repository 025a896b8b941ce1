-- Gives one use of an invitation back.
-- KEYS[1]   the invitations
-- ARGV[1]   the digest of the token
-- Reply     1, or 0 when there is no such invitation, or all of its uses are left
local uses, left, rest = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+) (%d+) (.*)$')
if not uses or tonumber(left) >= tonumber(uses) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], table.concat({uses, string.format('%d', left + 1), rest}, ' '))
return 1
