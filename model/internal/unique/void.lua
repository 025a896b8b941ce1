-- Reports whether a record has a unique value, and if not, revokes the claim of a writer.
--
-- KEYS 1 content, 2 voids
-- ARGV 1 id, 2 number of the index, 3 value, 4 token of the claim, 5 its deadline, or nothing:
--      it was confirmed, and no write is in progress
-- Reply 1 if the record has the value

local content, voids = unpack(KEYS)
local id, number, value, token, deadline = unpack(ARGV)
local entries = unpacked(redis.call('HGET', content, id))
if has(entries, tonumber(number), value) and (entries[1] == 0 or entries[1] > now()) then
	return 1
end
-- A write after its deadline, by the clock of this server, is refused anyway, so the token need
-- not be kept.
redis.call('ZREMRANGEBYSCORE', voids, '-inf', string.format('(%.0f', now()))
if deadline ~= '' then
	redis.call('ZADD', voids, deadline, token)
end
return 0
