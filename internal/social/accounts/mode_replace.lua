-- Changes who can sign up, if that is still what it was.
-- KEYS[1]   hash: the settings of the site
-- ARGV[1]   the mode that it must be; a site without one is open
-- ARGV[2]   the new mode
-- Reply     1 when it is changed, else 0
if (redis.call('HGET', KEYS[1], 'signup') or 'open') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'signup', ARGV[2])
return 1
