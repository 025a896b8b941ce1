-- Reads the texts of a case, and counts its reports by kind.
-- KEYS[1]   hash: the case; see report_add.lua
-- Reply     the texts, kind, number, kind, number ...
local case, counts, reply = redis.call('HGETALL', KEYS[1]), {}, {''}
for i = 1, #case, 2 do
  if case[i] == 'texts' then
    reply[1] = case[i + 1]
  elseif string.sub(case[i], 1, 3) == 'by:' then
    local kind = string.match(case[i + 1], '^%d+ (%S+)')
    if kind then
      counts[kind] = (counts[kind] or 0) + 1
    end
  end
end
for kind, n in pairs(counts) do
  reply[#reply + 1] = kind
  reply[#reply + 1] = tostring(n)
end
return reply
