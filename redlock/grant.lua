-- Shared by acquire.lua and release.lua, which are sent with this text in front.

local function milliseconds()
	local time = redis.call('TIME')
	return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- gap returns for how many milliseconds a name that is free is left to clients of
-- other libraries, who do not stand in line. The limit is for a clock that is set
-- back meanwhile.
local function gap(attempts)
	local free = redis.call('HGET', attempts, 'free')
	if not free then
		return 0
	end
	local left = free - milliseconds()
	return left > 0 and left <= 1000 and left or 0
end

-- grant gives a free name to the one who has waited for it longest. The name is
-- never without a holder in between, so that nobody can push in, and only the
-- one concerned is told. The time is short: a waiter that is alive takes the
-- lock for its full time at once.
--
-- The message repeats the number of the waiter's last attempt that this server
-- has refused, so that the waiter can tell this grant from one that has expired.
--
-- A waiter that is gone is passed over: nobody listens for it, though it did when
-- it asked, or it has not asked again when it should have. One that is alive
-- nevertheless gets its place back when it asks.
--
-- name          the name
-- waiters       sorted set: who waits for it
-- attempts      hash: of each waiter, its last attempt, see acquire.lua
-- ttl           how long the lock is kept for the next in line, milliseconds
-- caller        a waiter that asks for the name itself, or nil
--
-- Returns the waiter that is next in line, or nil. It has the name, unless it is
-- the caller.
local function grant(name, waiters, attempts, ttl, caller)
	local now = milliseconds()
	for _ = 1, 1000 do
		local member = redis.call('ZPOPMIN', waiters)[1]
		if not member then
			return nil
		end
		local last = redis.call('HGET', attempts, member)
		redis.call('HDEL', attempts, member)
		if member == caller then
			return member
		end
		local attempt, again, listens = string.match(last or '', '^(%d+) (%d+) (%d)$')
		if not again or now <= tonumber(again) then
			local manager, value = string.match(member, '^([^:]*):(.*)$')
			local message = attempt and value .. ' ' .. attempt or value
			-- A user that may not publish makes its waiters poll, no more.
			local heard = redis.pcall('PUBLISH', 'redlock:' .. manager, message)
			if heard ~= 0 or listens ~= '1' then
				redis.call('SET', name, value, 'PX', ttl)
				return member
			end
		end
	end
	return nil
end
