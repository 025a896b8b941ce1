-- Reads some pieces of an index, one after the other, and so jumps over what is
-- between them.
--
-- KEYS[1]  the index
-- ARGV[1]  how many members at most
-- ARGV[2]  '1': from the greatest to the least, '0' the other way round
-- ARGV[3..]  min, max, min, max, ... of the pieces, as ZRANGEBYLEX takes them, in
--            the order in which they are read
--
-- Reply  how many pieces are read to their ends, then an array of the members of
--        each piece. Behind the last of these goes on the piece that is not.
local left = tonumber(ARGV[1])
local reply = {0}
for i = 3, #ARGV, 2 do
	local found
	if ARGV[2] == '1' then
		found = redis.call('ZREVRANGEBYLEX', KEYS[1], ARGV[i + 1], ARGV[i], 'LIMIT', 0, left)
	else
		found = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[i], ARGV[i + 1], 'LIMIT', 0, left)
	end
	reply[#reply + 1] = found
	left = left - #found
	if left <= 0 then
		break
	end
	reply[1] = reply[1] + 1
end
return reply
