-- The 3n+1 job in Tarantool, whose Lua runs inside the server.
--
--     tarantool tarantool.lua server PORT none|write MEMORY
--     tarantool tarantool.lua parent|worker PORT N W
--
-- Workers are clients that call a function for each block; the sequences are computed where the data is, one
-- transaction for what a sequence stores.  Start and end are waited for inside the server, asleep.
-- luacheck: globals box job_start job_queue job_take job_compute job_finish
local fiber = require "fiber"
local clock = require "clock"

local role, port = arg[1], arg[2]

local function server(wal_mode, memory)
    box.cfg {wal_mode = wal_mode, memtx_memory = tonumber(memory), log_level = 3, wal_dir = ".",
        memtx_dir = ".", vinyl_dir = "."}
    local step = box.schema.space.create("step")
    step:create_index("primary", {type = "HASH", parts = {1, "unsigned"}})
    local maxima = box.schema.space.create("maxima")
    maxima:create_index("primary", {parts = {1, "string"}})
    local taken, queued, finished, reads, updates = {}, 0, 0, 0, 0
    local changed, started = fiber.cond(), false

    local function raise(name, value)
        reads = reads + 1
        local now = maxima:get(name)
        if value > (now and now[2] or 0) then
            maxima:replace {name, value}
            updates = updates + 1
        end
    end

    local function sequence(first, path)
        local n, length, high, known = first, 0, 0, nil
        while n > 1 do
            reads = reads + 1
            known = step:get(n)
            if known then break end
            length = length + 1
            path[length] = n
            n = n % 2 == 0 and n / 2 or 3 * n + 1
            if n > high then high = n end
        end
        if length == 0 then return end
        local total = length + (n > 1 and known[2] or 0)
        box.begin()
        raise("longest", total)
        raise("highest", high)
        for i = 1, length do step:replace {path[i], total - i + 1} end
        box.commit()
        updates = updates + length
    end

    local function wait_until(condition)
        while not condition() do changed:wait() end
    end

    function job_take(i)
        local mine = not taken[i]
        taken[i] = true
        return mine
    end

    function job_compute(first, last)
        local path = {} -- luacheck: ignore 241
        for n = first, last do sequence(n, path) end
    end

    function job_queue()
        queued = queued + 1
        changed:broadcast()
        wait_until(function() return started end)
    end

    function job_finish()
        finished = finished + 1
        changed:broadcast()
    end

    function job_start(workers)
        wait_until(function() return queued == workers end)
        local begin = clock.monotonic()
        started = true
        changed:broadcast()
        wait_until(function() return finished == workers end)
        local seconds = clock.monotonic() - begin
        local longest, highest = maxima:get "longest", maxima:get "highest"
        return seconds, longest and longest[2] or 0, highest and highest[2] or 0, reads, updates
    end

    box.schema.user.grant("guest", "read,write,execute", "universe")
    box.cfg {listen = "127.0.0.1:" .. port} -- last: whoever can connect can begin
end

local function client(n, workers)
    local server_there = require("net.box").connect("127.0.0.1:" .. port)
    if role == "parent" then
        local form = '{"seconds":%.6f,"longest":%.0f,"highest":%.0f,"reads":%.0f,"updates":%.0f}'
        print(form:format(server_there:call("job_start", {workers})))
        return
    end
    server_there:call("job_queue")
    local blocks = math.min(10 * workers, n)
    for i = 1, blocks do
        if server_there:call("job_take", {i}) then
            local first = math.floor(n * (i - 1) / blocks) + 1
            server_there:call("job_compute", {first, math.floor(n * i / blocks)})
        end
    end
    server_there:call("job_finish")
end

if role == "server" then
    server(arg[3], arg[4])
else
    client(tonumber(arg[3]), tonumber(arg[4]))
    os.exit(0)
end
