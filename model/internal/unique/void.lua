-- Reports whether a record has a unique value, and if not, revokes the claim of a writer.
--
-- KEYS 1 content, 2 voids
-- ARGV 1 id, 2 number of the index, 3 value, 4 token of the claim, 5 deadline of the claim, or
--      empty to revoke nothing
-- Reply 1 if the record has the value, otherwise 0

local content, voids = unpack(KEYS)
local id, number, value, token, deadline = unpack(ARGV)
local entries = unpacked(redis.call('HGET', content, id))
if has(entries, tonumber(number), value) and (entries[1] == 0 or entries[1] > now()) then
	return 1
end
-- A write after the deadline of its claim, by the clock of this server, is refused anyway, so
-- tokens need not be kept after their deadlines.
redis.call('ZREMRANGEBYSCORE', voids, '-inf', string.format('(%.0f', now()))
if deadline ~= '' then
	redis.call('ZADD', voids, deadline, token)
end
return 0
