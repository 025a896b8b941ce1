-- Reads the terms of a prefix among which are the best. Preceded by declare.lua
-- and heads.lua.
--
-- KEYS[1]  sorted set: the index
-- KEYS[2]  hash: its content
-- KEYS[3]  hash: its heads
-- ARGV[1]  the prefix
--
-- Reply    {'', entries} all of them, or more than can be where the heads are
--          whole; or {head, content} of each name in the head

local head = redis.call('HGET', KEYS[3], ARGV[1])
if head then
	local parsed = parse(head)
	if not parsed.broken then
		return {head, lookup(KEYS[2], members(parsed, ARGV[1]))}
	end
end
return {'', redis.call('ZRANGEBYLEX', KEYS[1], from(ARGV[1]), to(ARGV[1]), 'LIMIT', 0, LIGHT + 1)}
