-- Begins a script that removes the entry of a hash: removes the hash first. The script
-- that follows removes the entry.
--
-- KEYS[1..6]  the keys of a partition: index, content, meta, next, next content, changed
-- KEYS[7]     the hash
-- ARGV[1..3]  kind, declaration, partitions
--
-- Reply  that of the script that follows
local holds = redis.call('TYPE', KEYS[7]).ok
if holds ~= 'none' and holds ~= 'hash' then
	return redis.error_reply('WRONGTYPE the key holds a ' .. holds .. ' and no hash')
end
local _, refused = opened(ARGV[1], ARGV[2], ARGV[3])
if refused then
	return refused
end
redis.call('UNLINK', KEYS[7])
