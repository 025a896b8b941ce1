-- Shared by acquire.lua and release.lua, which are sent with this text in front.
--
-- grant gives a free name to the one who has waited for it longest. The name is
-- never without a holder in between, so that nobody can push in, and only the
-- one concerned is told. The time is short: a waiter that is alive takes the
-- lock for its full time at once.
--
-- Returns whether anybody was waiting.
local function grant(name, waiters, milliseconds)
	local member = redis.call('ZPOPMIN', waiters)[1]
	if not member then
		return false
	end
	local manager, value = string.match(member, '^([^:]*):(.*)$')
	redis.call('SET', name, value, 'PX', milliseconds)
	-- A user that may not publish makes its waiters poll, no more.
	redis.pcall('PUBLISH', 'redlock:' .. manager, value)
	return true
end
