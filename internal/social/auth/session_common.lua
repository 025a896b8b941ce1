-- Functions shared by the scripts on sessions. KEYS[1] is the hash of a user, KEYS[2] the
-- hash of the user's sessions, with an entry `<created> <used> <device>` for each. A
-- session without an entry predates the entries.

-- list returns the sessions of the user, newest first.
local function list()
  local tokens = {}
  for token in string.gmatch(redis.call('HGET', KEYS[1], 'auth') or '', '[^,]+') do
    tokens[#tokens + 1] = token
  end
  return tokens
end

-- expired reports whether a session was not used for longer than idle, or began longer
-- ago than max_age.
local function expired(token, now, idle, max_age)
  local created, used = string.match(redis.call('HGET', KEYS[2], token) or '', '^(%d+) (%d+)')
  return created ~= nil and (now - tonumber(used) > idle or now - tonumber(created) > max_age)
end

-- store writes the remaining sessions, and removes all other entries.
local function store(tokens)
  if #tokens == 0 then
    redis.call('HDEL', KEYS[1], 'auth')
    redis.call('DEL', KEYS[2])
    return
  end
  redis.call('HSET', KEYS[1], 'auth', table.concat(tokens, ','))
  local left = {}
  for _, token in ipairs(tokens) do
    left[token] = true
  end
  for _, token in ipairs(redis.call('HKEYS', KEYS[2])) do
    if not left[token] then
      redis.call('HDEL', KEYS[2], token)
    end
  end
end

