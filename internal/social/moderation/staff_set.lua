-- Changes the role of a user, unless the role has changed in the meantime.
-- KEYS[1]   hash: staff, user id -> role
-- ARGV[1]   the user
-- ARGV[2]   the expected role of the user, empty for none
-- ARGV[3]   the new role of the user, empty for none
-- ARGV[4]   the actor, empty for an operator
-- ARGV[5]   the expected role of the actor
-- Reply     1 if the role was changed; 0 if a role was not as expected; -1 if the user is the
--           last owner, and stays one
local function role(uid)
  return redis.call('HGET', KEYS[1], uid) or ''
end
if role(ARGV[1]) ~= ARGV[2] or ARGV[4] ~= '' and role(ARGV[4]) ~= ARGV[5] then
  return 0
end
if ARGV[2] == 'owner' and ARGV[3] ~= 'owner' and ARGV[4] ~= '' then
  local owners = 0
  for _, value in ipairs(redis.call('HVALS', KEYS[1])) do
    if value == 'owner' then
      owners = owners + 1
    end
  end
  if owners < 2 then
    return -1
  end
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
