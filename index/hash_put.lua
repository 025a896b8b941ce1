-- Begins a script that puts the entry of a hash: sets fields of the hash first. The script
-- that follows puts the entry, with the arguments after those of this one.
--
-- KEYS[1..6]  the keys of a partition: index, content, meta, next, next content, changed
-- KEYS[7]     the hash
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     how many fields the hash must have, and then their names and values, ...
-- ARGV[..]    how many fields to set, and then their names and values, ...
--
-- Reply  -1 if the hash does not have the fields; else that of the script that follows
local holds = redis.call('TYPE', KEYS[7]).ok
if holds ~= 'none' and holds ~= 'hash' then
	return redis.error_reply('WRONGTYPE the key holds a ' .. holds .. ' and no hash')
end
local _, refused = opened(ARGV[1], ARGV[2], ARGV[3])
if refused then
	return refused
end
local at = 5
for _ = 1, tonumber(ARGV[4]) do
	if redis.call('HGET', KEYS[7], ARGV[at]) ~= ARGV[at + 1] then
		return -1
	end
	at = at + 2
end
local last = at + 2 * tonumber(ARGV[at])
redis.call('HSET', KEYS[7], unpack(ARGV, at + 1, last))
local ARGV = {ARGV[1], ARGV[2], ARGV[3], unpack(ARGV, last + 1)}
