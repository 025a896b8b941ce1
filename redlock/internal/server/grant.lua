-- Shared by acquire.lua and release.lua, which are sent after this text.

-- ours reports whether a value has the format of a lock of this package, see NewValue. Only such
-- values are deleted, extended or overwritten.
local function ours(value)
	return #value == 35 and string.sub(value, 1, 8) == 'redlock:'
end

local function milliseconds()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- gap returns for how many milliseconds a free name is left to clients of other libraries, which
-- do not join the queue. The limit of a second guards against a clock that is set back.
local function gap(attempts)
	local free = redis.call('HGET', attempts, 'free')
	if not free then
		return 0
	end
	local left = free - milliseconds()
	return left > 0 and left <= 1000 and left or 0
end

-- grant gives a free name to the waiter that has waited longest. The name always has a holder, so
-- no other client can overtake the waiter, and only this waiter is notified. The ttl is short: a
-- live waiter immediately extends the lock to its full ttl.
--
-- Dead waiters are skipped: waiters that listened when they asked and no longer listen, and waiters
-- that have not asked again in time. A live waiter that was skipped gets its place back when it
-- asks.
--
-- name          the name
-- waiters       sorted set: its waiters
-- attempts      hash: for each waiter, its last attempt, see acquire.lua
-- ttl           how long the lock is kept for the next waiter, milliseconds
-- caller        the waiter that asks for the name, or nil
--
-- Returns the next waiter, or nil. The waiter has the name, unless it is the caller.
local function grant(name, waiters, attempts, ttl, caller)
	local now
	for _ = 1, 1000 do
		local member = redis.call('ZPOPMIN', waiters)[1]
		if not member then
			return nil
		end
		now = now or milliseconds()
		local last = redis.call('HGET', attempts, member)
		redis.call('HDEL', attempts, member)
		if member == caller then
			return member
		end
		local again, listens = string.match(last or '', '^(%d+) (%d)$')
		if not again or now <= tonumber(again) then
			local manager, value = string.match(member, '^([^:]*):(.*)$')
			-- Without the permission to publish, waiters still poll.
			local heard = redis.pcall('PUBLISH', 'redlock:' .. manager, value)
			if heard ~= 0 or listens ~= '1' then
				redis.call('SET', name, value, 'PX', ttl)
				return member
			end
		end
	end
	return nil
end
