-- Functions for the scripts that write triples. This file precedes each of these scripts.
-- ARGV[2], the declaration, determines the orders of the graph.

-- secondary returns all entries of a triple except spo, which identifies it. The names are
-- escaped.
local function secondary(s, p, o)
	local pos, osp = 'pos:' .. p .. ':' .. o .. ':' .. s, 'osp:' .. o .. ':' .. s .. ':' .. p
	if ARGV[2] == 'compact' then
		return {pos, osp}
	end
	return {
		pos, osp,
		'sop:' .. s .. ':' .. o .. ':' .. p,
		'pso:' .. p .. ':' .. s .. ':' .. o,
		'ops:' .. o .. ':' .. p .. ':' .. s,
	}
end

-- primary returns the spo entry.
local function primary(s, p, o)
	return 'spo:' .. s .. ':' .. p .. ':' .. o
end

-- append appends values to a list, each after a score of 0, for ZADD.
local function append(list, values)
	local n = #list
	for i = 1, #values do
		list[n + 1], list[n + 2] = '0', values[i] -- as a string, which needs no conversion
		n = n + 2
	end
end
