-- Gives the lock back where it is ours, and hands it to the next in line.
-- Preceded by grant.lua.
--
-- KEYS[1]  the name that is locked
-- KEYS[2]  sorted set: who waits for it
-- KEYS[3]  hash: of each waiter, its last attempt, see acquire.lua
-- ARGV[1]  how long the lock is kept for the next in line, milliseconds
-- ARGV[2]  a waiter to take out of the line, manager:value, or empty
-- ARGV[3]  the value of the lock
-- ARGV[4]  the value it had before, which a server that missed the change
--          still has, or empty
--
-- Reply    1 released, 0 it was not ours

if ARGV[2] ~= '' then
	redis.call('ZREM', KEYS[2], ARGV[2])
	redis.call('HDEL', KEYS[3], ARGV[2])
end
local holder = redis.pcall('GET', KEYS[1])
if holder ~= ARGV[3] and (ARGV[4] == '' or holder ~= ARGV[4]) then
	return 0
end
if not grant(KEYS[1], KEYS[2], KEYS[3], ARGV[1]) then
	redis.call('DEL', KEYS[1])
end
return 1
