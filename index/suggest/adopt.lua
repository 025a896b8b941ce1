-- Begins or ends the adoption of a sorted set created by hand. Preceded by declare.lua,
-- value.lua and topk.lua.
--
-- KEYS[1]…[6]  the index, as partition.Keys.All
-- KEYS[7]      sorted set: the entries created by hand, during the adoption
-- ARGV[1]…[3]  kind, declaration during the adoption, partitions
-- ARGV[4]      begin or end
-- ARGV[5]      the declaration after the adoption
--
-- Reply        1: the adoption has begun or ended; 0: there is no sorted set to adopt

local _, refusal = readDeclaration(KEYS[3], ARGV[1], ARGV[2], ARGV[3])
if refusal then
	return refusal
elseif ARGV[4] == 'end' then
	redis.call('HSET', KEYS[3], 'declaration', ARGV[5])
	redis.call('UNLINK', KEYS[7])
elseif redis.call('EXISTS', KEYS[3]) == 0 then
	if redis.call('TYPE', KEYS[1]).ok ~= 'zset' then
		return 0
	end
	if redis.call('RENAMENX', KEYS[1], KEYS[7]) == 0 then
		return redis.error_reply('WRONGTYPE the key ' .. KEYS[7] .. ' exists')
	end
	-- From now on readers and writers are refused.
	redis.call('HSET', KEYS[3], 'kind', ARGV[1], 'declaration', ARGV[2], 'partitions', ARGV[3])
end
return 1
