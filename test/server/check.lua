-- What tests of the server are written with: check.case(name, function), check.is(got, wanted), check.run().

local resp = require "resp"

local check = {path = os.getenv("SERVE_SOCKET")}
local cases = {}
local servers = {} -- that check.server() has started

local function text(v)
    if v == resp.null then return "null" end
    if type(v) ~= "table" then return ("%q"):format(tostring(v)) end
    local t = {}
    for _, one in ipairs(v) do t[#t + 1] = text(one) end
    for k, one in pairs(v) do
        if type(k) ~= "number" then t[#t + 1] = k .. "=" .. text(one) end
    end
    return "{" .. table.concat(t, ", ") .. "}"
end

--- Fail unless both are the same, seen as text.
function check.is(got, wanted)
    if text(got) ~= text(wanted) then
        error(("got %s, not %s"):format(text(got), text(wanted)), 2)
    end
end

--- An error that begins so.
function check.fails(got, wanted)
    if type(got) ~= "table" or not got.error or got.error:sub(1, #wanted) ~= wanted then
        error(("got %s, not the error %s"):format(text(got), wanted), 2)
    end
end

function check.case(name, f) cases[#cases + 1] = {name, f} end

--- A connection to the server; each case has an empty database.
function check.connect() return assert(resp.connect(check.path)) end

--- What INFO says of the server by this name; a number.
function check.info(c, name)
    return tonumber(c("INFO", "server"):match("\n" .. name .. ":(%d+)"))
end

-- End a connection.  When this is over the server knows of it no more.
local function leave(c)
    c:write("QUIT")
    while c:more() do end
    c:close()
end

-- Workers that have more connections than another: these sleep.
local function sleep(by_worker, least)
    local asleep = {}
    for _, list in pairs(by_worker) do
        if #list > least then
            asleep[#asleep + 1] = list[1]
            list[1]:send("DEBUG SLEEP 0.02\r\n")
        end
    end
    local soon = os.clock() + 0.005
    while os.clock() < soon do end -- until they do, mostly
    return asleep
end

-- How many connections the worker with the fewest has, of so many workers.
local function fewest(by_worker, workers)
    local least
    for worker = 0, workers - 1 do
        local n = #(by_worker[worker] or {})
        least = least and math.min(least, n) or n
    end
    return least
end

-- One more connection.  nil: its worker has more than another.
local function one_more(by_worker, workers)
    local least = fewest(by_worker, workers)
    local asleep = sleep(by_worker, least)
    local one = check.connect()
    local worker = check.info(one, "worker")
    for _, c in ipairs(asleep) do c:read() end
    by_worker[worker] = by_worker[worker] or {}
    if #by_worker[worker] > least then
        leave(one)
        return nil
    end
    table.insert(by_worker[worker], one)
    return one
end

--- n connections over all workers: none has two more than another.  The kernel gives a new one to a worker
-- that waits, so the others sleep meanwhile; it may come to one of these yet, and then it is tried again.
function check.spread(n)
    local list, by_worker = {}, {}
    local c = check.connect()
    local workers = check.info(c, "workers")
    leave(c)
    for i = 1, n do
        check.wait(function()
            list[i] = one_more(by_worker, workers)
            return list[i]
        end)
    end
    return list
end

--- Another server, in the folder of this one: how.file, how.options, and `how.before`, what its shell does
--- before.  Its number, and what connects to it.
function check.server(how)
    local folder = os.getenv("SERVE_FOLDER")
    local program = (os.getenv("CARET_BUILD") or os.getenv("PWD") .. "/../../build") .. "/caret-server"
    local path = folder .. "/another"
    os.remove(path)
    local command = "cd %s && " ..
        "{ { %s; exec %s %s --shm-dir . --port 0 --unix %s %s; } 2>>log >log.out & echo $!; }"
    local f = io.popen(command:format(folder, how.before or ":", program, how.file, path, how.options or ""))
    local pid = tonumber(f:read("*l"))
    f:close()
    servers[#servers + 1] = pid
    local function connect()
        local c
        check.wait(function()
            c = resp.connect(path)
            return c and pcall(c, "PING")
        end)
        return c
    end
    return pid, connect
end

--- Is the process there no more?
function check.gone(pid)
    local f = io.open("/proc/" .. pid .. "/stat")
    local stat = f and f:read("*a") -- nil: it went before it was read
    if f then f:close() end
    local state = stat and stat:match("%) (%a)")
    return state == nil or state == "Z"
end

--- Process ids of the workers, also of another server.
function check.workers(server)
    local pid, t = server or os.getenv("SERVE_PID"), {}
    local f = io.open(("/proc/%s/task/%s/children"):format(pid, pid)) or -- not every kernel has it
        io.popen("pgrep -P " .. pid)
    for child in f:read("*a"):gmatch("%d+") do t[#t + 1] = tonumber(child) end
    f:close()
    return t
end

--- Megabytes of memory that a process has for itself.
function check.megabytes(pid)
    local f = io.open("/proc/" .. pid .. "/status")
    local status = f:read("*a")
    f:close()
    return tonumber(status:match("RssAnon:%s*(%d+)")) / 1024
end

--- Fail unless the counts of n things that should come equally often, `total` times together, are within
-- seven deviations of their mean.
function check.even(counts, n, total)
    local mean, seen = total / n, 0
    for _, count in pairs(counts) do
        seen = seen + 1
        if math.abs(count - mean) > 7 * math.sqrt(mean) then
            error(("%d times, not about %g"):format(count, mean), 2)
        end
    end
    check.is(seen, n)
end

--- Requests, {"SET", "k", "v"} each, are sent to c at once: its answers are those of `other`, which gets one
--- after the other.
function check.alike(c, other, list)
    local bytes = {}
    for i, words in ipairs(list) do bytes[i] = resp.encode(unpack(words)) end
    c:send(table.concat(bytes))
    for _, words in ipairs(list) do check.is(c:read(), other(unpack(words))) end
end

--- Call f until it is true, for a minute at most: the machine may be busy.
function check.wait(f)
    local limit = os.time() + 60
    while not f() do
        if os.time() > limit then error("it did not happen in a minute", 2) end
    end
end

function check.run()
    local failed = 0
    for _, case in ipairs(cases) do
        local c = check.connect()
        c("FLUSHALL")
        local fine, wrong = xpcall(case[2], function(e) return type(e) == "string" and e or text(e) end, c)
        if not fine then
            failed = failed + 1
            print(("%s: %s"):format(case[1], wrong))
        end
        c:close()
    end
    for _, pid in ipairs(servers) do -- of a case that failed
        if not check.gone(pid) then os.execute("kill " .. pid) end
    end
    print(("%d passed, %d failed"):format(#cases - failed, failed))
    os.exit(failed == 0 and 0 or 1)
end

return check
