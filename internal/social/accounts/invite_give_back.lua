-- Gives back one use of an invitation.
-- KEYS[1]   the invitations
-- ARGV[1]   the digest of the token
-- Reply     1, or 0 if there is no such invitation, or it is unused
local uses, left, rest = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%d+) (%d+) (.*)$')
if not uses or tonumber(left) >= tonumber(uses) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], table.concat({uses, string.format('%d', left + 1), rest}, ' '))
return 1
