-- The 3n+1 job on a server that speaks RESP, through the Lua client redis-lua; LuaJIT or Lua 5.1.
--
--     redis.lua parent|worker MODE HOST PORT PREFIX N W
--
-- MODE is client: a call for each operation; tuned: all lengths of a sequence in one call, the two maxima in
-- one; script: the sequences are computed by a script in the server, a thousand numbers a call; nodes: by a
-- script for caret serve, which reads and writes the same keys as nodes.
-- Lengths are a hash; the maxima are raised under WATCH, MULTI, EXEC.  Nobody can sleep until something
-- changes, so start and end are polled for.
-- All keys begin with PREFIX, and are deleted in the end.
local redis = require "redis"
local socket = require "socket"

local role, mode, host, port, prefix, N, W =
    arg[1], arg[2], arg[3], tonumber(arg[4]), arg[5], tonumber(arg[6]), tonumber(arg[7])
local POLL = 0.001
local CHUNK = 1000 -- numbers for one call of the script: others get their turn
local in_server = mode == "script" or mode == "nodes"
local client = redis.connect(host, port)

local function key(name) return prefix .. name end
local step, longest, highest, counts = key "step", key "longest", key "highest", key "counts"
local blocks = math.min(10 * W, N)
local text = function(n) return ("%.0f"):format(n) end
local reads, updates = 0, 0

local script = [[
local step, longest, highest, counts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local reads, updates, path = 0, 0, {}
local function raise(key, value)
    reads = reads + 1
    if value > tonumber(redis.call('GET', key) or 0) then
        redis.call('SET', key, string.format('%.0f', value))
        updates = updates + 1
    end
end
for first = tonumber(ARGV[1]), tonumber(ARGV[2]) do
    local n, length, high, known = first, 0, 0, nil
    while n > 1 do
        reads = reads + 1
        known = redis.call('HGET', step, n)
        if known then break end
        length = length + 1
        path[length] = n
        if n % 2 == 0 then n = n / 2 else n = 3 * n + 1 end
        if n > high then high = n end
    end
    if length > 0 then
        local total = length
        if n > 1 then total = total + tonumber(known) end
        raise(longest, total)
        raise(highest, high)
        for i = 1, length do redis.call('HSET', step, path[i], total - i + 1) end
        updates = updates + length
    end
end
redis.call('HINCRBY', counts, 'reads', reads)
redis.call('HINCRBY', counts, 'updates', updates)
]]

local nodes_script = [=[
local keys, counts = caret.node('^redis'), KEYS[4]
local step, longest, highest = keys[KEYS[1]], keys[KEYS[2]], keys[KEYS[3]]
local number, set, move = step.__number, step.__set, step.__move
local reads, updates, path = 0, 0, {}
local function raise(node, value)
    reads = reads + 1
    if value > number(node, 0) then
        set(node, value)
        updates = updates + 1
    end
end
local here = step:cursor(1)
for first = tonumber(ARGV[1]), tonumber(ARGV[2]) do
    local n, length, high, known = first, 0, 0, nil
    while n > 1 do
        reads = reads + 1
        known = number(move(here, n))
        if known then break end
        length = length + 1
        path[length] = n
        if n % 2 == 0 then n = n / 2 else n = 3 * n + 1 end
        if n > high then high = n end
    end
    if length > 0 then
        local total = length + (known or 0)
        raise(longest, total)
        raise(highest, high)
        for i = 1, length do set(move(here, path[i]), total - i + 1) end
        updates = updates + length
    end
end
redis.call('HINCRBY', counts, 'reads', reads)
redis.call('HINCRBY', counts, 'updates', updates)
]=]

local options = {watch = {longest, highest}, cas = true, retry = 100000}

local function raise(length, high)
    local changed
    client:transaction(options, function(t)
        local values
        if mode == "tuned" then
            values = t:mget(longest, highest)
        else
            values = {t:get(longest), t:get(highest)}
        end
        reads, changed = reads + 2, 0
        t:multi()
        if length > (tonumber(values[1]) or 0) then
            t:set(longest, length)
            changed = changed + 1
        end
        if high > (tonumber(values[2]) or 0) then
            t:set(highest, text(high))
            changed = changed + 1
        end
    end)
    updates = updates + changed
end

local path = {} -- luacheck: ignore 241
local function keep(length, total)
    updates = updates + length
    if mode == "tuned" then
        local list = {}
        for i = 1, length do
            list[2 * i - 1], list[2 * i] = text(path[i]), total - i + 1
        end
        client:hmset(step, unpack(list))
    else
        for i = 1, length do client:hset(step, text(path[i]), total - i + 1) end
    end
end

local function sequence(first)
    local n, length, high, known = first, 0, 0, nil
    while n > 1 do
        reads = reads + 1
        known = client:hget(step, text(n))
        if known then break end
        length = length + 1
        path[length] = n
        n = n % 2 == 0 and n / 2 or 3 * n + 1
        if n > high then high = n end
    end
    if length == 0 then return end
    local total = length + (n > 1 and tonumber(known) or 0)
    raise(total, high)
    keep(length, total)
end

local function compute(first, last)
    if not in_server then
        for n = first, last do sequence(n) end
        return
    end
    local sha = client:script("load", mode == "nodes" and nodes_script or script)
    for n = first, last, CHUNK do
        client:evalsha(sha, 4, step, longest, highest, counts, n, math.min(n + CHUNK - 1, last))
    end
end

local function worker()
    client:decr(key "queued")
    while not client:get(key "trigger") do socket.sleep(POLL) end
    for i = 1, blocks do
        if client:hincrby(key "taken", i, 1) == 1 then
            compute(math.floor(N * (i - 1) / blocks) + 1, math.floor(N * i / blocks))
        end
    end
    if not in_server then
        client:hincrby(counts, "reads", reads)
        client:hincrby(counts, "updates", updates)
    end
    client:incr(key "finished")
end

local function clear()
    client:del(step, longest, highest, counts, key "queued", key "trigger", key "taken", key "finished")
end

local function parent()
    client:incrby(key "queued", W)
    while tonumber(client:get(key "queued")) > 0 do socket.sleep(POLL) end
    local start = socket.gettime()
    client:set(key "trigger", 1)
    while tonumber(client:get(key "finished") or 0) < W do socket.sleep(POLL) end
    local seconds = socket.gettime() - start
    local form = '{"seconds":%.6f,"longest":%s,"highest":%s,"reads":%s,"updates":%s,"n":%d,"workers":%d}'
    local done = client:hgetall(counts)
    print(form:format(seconds, client:get(longest) or 0, client:get(highest) or 0, done.reads or 0,
        done.updates or 0, N, W))
    clear()
end

if role == "parent" then parent() else worker() end
