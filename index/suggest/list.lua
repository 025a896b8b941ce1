-- Reads entries in order. Preceded by declare.lua, value.lua and topk.lua.
--
-- KEYS[1]      sorted set: the index
-- KEYS[2]      hash: its content
-- KEYS[3]      hash: its top-k cache, which is not read
-- KEYS[4]      hash: its metadata
-- ARGV[1]      the command: ZRANGEBYLEX or ZREVRANGEBYLEX
-- ARGV[2],[3]  the bounds of the range
-- ARGV[4]      the maximum number of entries
-- ARGV[5]      the half-life in microseconds; empty: none
--
-- Reply        as for complete.lua without a list

local now = halfLives(ARGV[5])
local entries = redis.call(ARGV[1], KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
return {'', entries, payloadsOf(KEYS[2], KEYS[4], entries), now and text(now) or '0'}
