-- Reads pieces of an index in turn, skipping the gaps between them.
--
-- KEYS[1]    the index
-- ARGV[1]    maximum number of members
-- ARGV[2]    '1': descending; '0': ascending
-- ARGV[3..]  min, max, min, max, ... of the pieces, as ZRANGEBYLEX takes them, in the
--            order in which they are read
--
-- Reply  number of pieces read to their ends, then an array of the members of
--        each piece. A piece that is not read to its end continues after its last
--        member.
local remaining = tonumber(ARGV[1])
local reply = {0}
for i = 3, #ARGV, 2 do
	local found
	if ARGV[2] == '1' then
		found = redis.call('ZREVRANGEBYLEX', KEYS[1], ARGV[i + 1], ARGV[i], 'LIMIT', 0, remaining)
	else
		found = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[i], ARGV[i + 1], 'LIMIT', 0, remaining)
	end
	reply[#reply + 1] = found
	remaining = remaining - #found
	if remaining <= 0 then
		break
	end
	reply[1] = reply[1] + 1
end
return reply
