-- Sets ids to the values of their objects, except ids written since watch.lua read them.
--
-- KEYS  the keys of a partition: index, content, meta, next, next content, changed
-- ARGV[1..3]  kind, declaration, partitions
-- ARGV[4]     the name of the run
-- ARGV[5..]   id, new value or '' to remove the id, ...
--
-- Reply  for each id 1 if it was replaced, 0 if it was written concurrently
local refusal = replaced(KEYS[3], ARGV[4])
if refusal then
	return refusal
end
local reply, ids, new = {}, {}, {}
for i = 5, #ARGV, 2 do
	local written = redis.call('SISMEMBER', KEYS[6], ARGV[i])
	if written == 0 then
		ids[#ids + 1] = ARGV[i]
		new[#new + 1] = ARGV[i + 1]
	end
	reply[#reply + 1] = 1 - written
end
if #ids > 0 then
	write(KEYS[1], KEYS[2], ids, new)
end
return reply
