-- Shared by revise.lua and write.lua.

-- digestOf returns the digest of fields.
local function digestOf(record, from, to)
	local parts = {}
	for i, value in ipairs(from > to and {} or call('HMGET', record, unpack(ARGV, from, to))) do
		parts[i] = value and #value .. ':' .. value or '-'
	end
	return redis.sha1hex(table.concat(parts))
end
