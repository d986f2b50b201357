-- The 3n+1 job through the Lua module yottadb: lua-yottadb on YottaDB, or Caret's module of that name.
-- Globals and locks as in bench/3n1/job.lua; Lua 5.3, 5.4.
--     yottadb.lua parent N W
--     yottadb.lua worker PID
local ydb = require "yottadb"

local node, wait = ydb.node, "sleep 0.002"
local queued, blocks, step = node "^queued", node "^blocks", node "^step"
local longest, highest = node "^longest", node "^highest"
local reads, updates = 0, 0

local function value(n)
    reads = reads + 1
    return tonumber(n.__)
end

local raise = ydb.transaction("BATCH", function(length, high)
    if length > (value(longest) or 0) then
        longest.__ = length
        updates = updates + 1
    end
    if high > (value(highest) or 0) then
        highest.__ = high
        updates = updates + 1
    end
end)

local path = {} -- luacheck: ignore 241
local function sequence(first)
    local n, length, high, known = first, 0, 0, nil
    while n > 1 do
        local here = step[n]
        known = value(here)
        if known then break end
        length = length + 1
        path[length] = here
        n = n % 2 == 0 and n // 2 or 3 * n + 1
        if n > high then high = n end
    end
    if length == 0 then return end
    local total = length + (known or 0)
    raise(total, high)
    for i = 1, length do path[i].__ = total - i + 1 end
    updates = updates + length
end

local function worker(pid)
    while not queued.__ do os.execute(wait) end
    node("^finished", pid):lock_incr()
    queued:incr(-1)
    node("^trigger", pid):lock_incr()
    node("^trigger", pid):lock_decr()
    for i = 1, tonumber(blocks.__) do
        local block = blocks[i]
        if not block.taken.__ and tonumber(block.taken:incr(1)) == 1 then
            for n = tonumber(block.first.__), tonumber(block.last.__) do sequence(n) end
        end
    end
    node("^reads"):incr(reads)
    node("^updates"):incr(updates)
    node("^finished", pid):lock_decr()
end

-- Wall time, which Lua has in whole seconds; asking costs about a millisecond.
local function now()
    local p = io.popen("date +%s.%N")
    local t = tonumber(p:read("l"))
    p:close()
    return t
end

local function parent(n, w)
    local count = math.min(10 * w, n)
    for i = 1, count do
        blocks[i].first.__ = n * (i - 1) // count + 1
        blocks[i].last.__ = n * i // count
    end
    local trigger, finished = node "^trigger", node "^finished"
    trigger:lock_incr()
    blocks.__ = count
    queued.__ = w
    while tonumber(queued.__) > 0 do os.execute(wait) end
    local start = now()
    trigger:lock_decr()
    finished:lock_incr()
    local seconds = now() - start
    finished:lock_decr()
    local form = '{"seconds":%.6f,"longest":%d,"highest":%d,"reads":%d,"updates":%d}'
    print(form:format(seconds, tonumber(longest.__ or 0), tonumber(highest.__ or 0),
        tonumber(node("^reads").__), tonumber(node("^updates").__)))
end

if arg[1] == "parent" then
    parent(math.tointeger(tonumber(arg[2])), math.tointeger(tonumber(arg[3])))
else
    worker(arg[2])
end
