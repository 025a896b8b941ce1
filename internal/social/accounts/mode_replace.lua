-- Changes who can sign up, if the mode is still the expected one.
-- KEYS[1]   hash: the settings of the site
-- ARGV[1]   the expected mode; a site without a mode is open
-- ARGV[2]   the new mode
-- Reply     1 if it was changed, else 0
if (redis.call('HGET', KEYS[1], 'signup') or 'open') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'signup', ARGV[2])
return 1
