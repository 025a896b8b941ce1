-- Tells whether this server may vote. Preceded by quarantine.lua.
--
-- KEYS[1]  hash: the boot marker of this server
-- ARGV[1]  the longest ttl in use, milliseconds
--
-- Reply    for how many milliseconds it must not, 0: it may

return math.max(quarantine(KEYS[1], tonumber(ARGV[1])), 0)
