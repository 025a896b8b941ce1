-- Gives ids the entries of their objects, where they were not written since watch.lua
-- read them.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5..]   id, its new member or '' to remove it, ...
--
-- Reply  for each id 1 if it was replaced, 0 if it was written meanwhile
local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local reply = {}
for i = 5, #ARGV, 2 do
	local id, new = ARGV[i], ARGV[i + 1]
	if redis.call('SISMEMBER', KEYS[6], id) == 1 then
		reply[#reply + 1] = 0
	else
		local old = redis.call('HGET', KEYS[2], id)
		if old then
			redis.call('ZREM', KEYS[1], old)
		end
		if new ~= '' then
			redis.call('ZADD', KEYS[1], 0, new)
			redis.call('HSET', KEYS[2], id, new)
		else
			redis.call('HDEL', KEYS[2], id)
		end
		reply[#reply + 1] = 1
	end
end
return reply
