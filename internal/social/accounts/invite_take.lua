-- Takes one use of an invitation.
-- KEYS[1]   the invitations
-- ARGV[1]   the digest of the token
-- ARGV[2]   the time now
-- Reply     1 if it was taken, 0 if none is left, -1 if the invitation has expired,
--           -2 if there is no such invitation
local entry = redis.call('HGET', KEYS[1], ARGV[1])
if not entry then
  return -2
end
local uses, left, created, expires, rest = string.match(entry, '^(%d+) (%d+) (%d+) (%d+) (.*)$')
if not uses then
  return -2
end
if tonumber(expires) <= tonumber(ARGV[2]) then
  return -1
end
if tonumber(left) < 1 then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], table.concat({uses, string.format('%d', left - 1), created, expires, rest}, ' '))
return 1
