-- Adds an invitation.
-- KEYS[1]   the invitations
-- ARGV[1]   the digest of the token
-- ARGV[2]   the invitation
-- ARGV[3]   the maximum number of invitations
-- Reply     1, or 0 if the maximum is reached
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
