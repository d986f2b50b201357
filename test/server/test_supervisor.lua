-- The supervisor is killed: its workers end by themselves, and a server that is started anew at the same
-- socket goes on with all that was answered. So it does after all processes were killed, while they started.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is = check.case, check.is
ffi.cdef "int kill(int, int);"
local SIGSTOP = 19

local folder = os.getenv("SERVE_FOLDER") .. "/own"
local program = (os.getenv("CARET_BUILD") or os.getenv("PWD") .. "/../../build") .. "/caret-server"
local path = folder .. "/s"

local function read(name)
    local f = io.open(name)
    local text = f and f:read("*a") or ""
    if f then f:close() end
    return text
end

-- A server of its own: its number.
local function start(workers)
    os.execute(("cd %s && %s data.caret --shm-dir . --port 0 --unix %s --workers %d 2>>log & echo $! >%s/pid")
        :format(folder, program, path, workers, folder))
    return tonumber(read(folder .. "/pid"))
end

-- It has ended, with all of its threads, which hold its sockets: nobody has to have waited for it.
local function gone(pid)
    local state, threads = read("/proc/" .. pid .. "/status"):match("State:%s*(%a).-Threads:%s*(%d+)")
    return state == nil or (state == "Z" and tonumber(threads) <= 1)
end

local function must_run(pid)
    if gone(pid) then error("the server has ended: " .. read(folder .. "/log"), 0) end
end

-- To the server `pid`.
local function connect(pid)
    local c
    check.wait(function()
        must_run(pid)
        c = resp.connect(path)
        local fine = c and pcall(c, "PING")
        if c and not fine then c:close() end
        return fine
    end)
    return c
end

local function wait_gone(list)
    for _, pid in ipairs(list) do check.wait(function() return gone(pid) end) end
end

-- End it in order.
local function stop(pid)
    ffi.C.kill(pid, 15)
    check.wait(function() return gone(pid) end)
end

os.execute("mkdir " .. folder)

case("the workers of a killed supervisor end, and their data is there", function()
    local pid = start(3)
    local c = connect(pid)
    local workers = check.workers(pid)
    is(#workers, 3)
    for i = 1, 500 do is(c("INCR", "n"), i) end
    ffi.C.kill(pid, 9)
    local acked = 500
    while pcall(function() acked = c("INCR", "n") end) do end -- until it has ended
    c:close()
    wait_gone(workers)
    wait_gone({ pid })
    pid = start(2)
    c = connect(pid)
    local n = tonumber(c("GET", "n"))
    is(n == acked or n == acked + 1, true)
    is(c("INFO", "clients"):match("connected_clients:(%d+)"), "1")
    c:close()
    stop(pid)
end)

case("all processes are killed, again and again, also while they start", function()
    local acked, open = 0, 0
    for round = 1, 6 do
        local pid = start(2)
        if round % 2 == 1 then
            local c = connect(pid)
            if round == 1 then c("DEL", "n") end
            for _ = 1, 50 do
                c("INCR", "n")
                acked = acked + 1
            end
            c:send(resp.encode("INCR", "n"):rep(20))
            open = open + 20
            c:close()
        end
        local workers
        check.wait(function()
            must_run(pid)
            workers = check.workers(pid)
            return #workers > 0
        end)
        ffi.C.kill(pid, SIGSTOP) -- it starts no more
        check.wait(function() return read("/proc/" .. pid .. "/stat"):match("%) (%a)") == "T" end)
        workers = check.workers(pid)
        ffi.C.kill(pid, 9)
        for _, worker in ipairs(workers) do ffi.C.kill(worker, 9) end
        wait_gone(workers)
        wait_gone({ pid }) -- it can end later than they do, and one that starts would find it at the socket
    end
    local pid = start(1)
    local c = connect(pid)
    local n = tonumber(c("GET", "n"))
    if n < acked or n > acked + open then
        error(("%d acknowledged, %d not known, %d there"):format(acked, open, n))
    end
    c:close()
    stop(pid)
end)

check.run()
