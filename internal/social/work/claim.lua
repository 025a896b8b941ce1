-- Leases tasks to the caller: for each class first tasks that were started and abandoned, then
-- waiting tasks.
-- KEYS[1]   the tasks
-- KEYS[2]   the number of starts of each task
-- KEYS[3..] for each class, the list that wakes a process
-- ARGV[1]   the length of a lease, in microseconds
-- ARGV[2..] for each class: its number, the maximum number of tasks, and the time for which a task
--           must have been due, in microseconds; then the kinds of tasks that the caller can run
-- Reply     the replication history; the number of replicas; the number of waiting short and long
--           tasks; the time until the next task is due, in microseconds, -1 if there is none; then
--           for each task its name, its token, the number of its starts, and whether its process
--           abandoned it
local classes, known, t = #KEYS - 2, {}, now()
for i = 2 + 3 * classes, #ARGV do
  known[ARGV[i]] = true
end
local id, replicas = history()
local reply = {id, replicas, 0, -1}
-- Leases at most want tasks from a band. Tasks of other kinds are left to other processes.
local function take(class, band, late, want)
  local got, from = 0, 0
  while got < want and from < 2000 do
    local page = redis.call('ZRANGEBYSCORE', KEYS[1], int(band), int(band + t - late), 'WITHSCORES', 'LIMIT', from, want - got)
    if #page == 0 then
      break
    end
    first_write(KEYS[1])
    for i = 1, #page, 2 do
      if known[string.match(page[i], '^[^:]*')] then
        local abandoned = band == begun(class) and page[i + 1] % 2 == 0 and 1 or 0
        reply[#reply + 1] = page[i]
        reply[#reply + 1] = lease(KEYS[1], class, page[i], t + ARGV[1])
        reply[#reply + 1] = redis.call('HINCRBY', KEYS[2], page[i], 1)
        reply[#reply + 1] = abandoned
        got = got + 1
      else
        from = from + 1
      end
    end
  end
  return got
end
for c = 0, classes - 1 do
  local class, want, late = tonumber(ARGV[2 + 3 * c]), tonumber(ARGV[3 + 3 * c]), tonumber(ARGV[4 + 3 * c])
  want = want - take(class, begun(class), late, want)
  want = want - take(class, waiting(class), late, want)
  for _, band in ipairs({begun(class), waiting(class)}) do
    local next = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. int(band + t - late), '(' .. int(band + BAND), 'WITHSCORES', 'LIMIT', 0, 1)
    if next[2] and (reply[4] < 0 or next[2] - band - t + late < reply[4]) then
      reply[4] = next[2] - band - t + late
    end
  end
  if want == 0 and redis.call('ZCOUNT', KEYS[1], int(begun(class)), int(begun(class) + t)) +
    redis.call('ZCOUNT', KEYS[1], int(waiting(class)), int(waiting(class) + t)) > 0 then
    wake(KEYS[3 + c]) -- there are more tasks than the caller can take
  end
end
for class = 0, 1 do
  reply[3] = reply[3] + redis.call('ZCOUNT', KEYS[1], int(waiting(class)), '(' .. int(waiting(class) + BAND))
end
return reply
