-- CONFIG SET of port, tls-port and bind while the server runs: where it listens then, what goes wrong, and
-- workers that die meanwhile.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local is, fails = check.is, check.fails
ffi.cdef "int kill(int, int); int getpid(void);"
local SIGTERM, SIGKILL, SIGUSR2 = 15, 9, 12

local folder = os.getenv("SERVE_FOLDER")
local program = (os.getenv("CARET_BUILD") or os.getenv("PWD") .. "/../../build") .. "/caret-server"
local workers = check.info(check.connect(), "workers")
local wrong = "ERR CONFIG SET failed (possibly related to argument '%s') - %s"
local at = 20000 + ffi.C.getpid() * 7 % 10000

local function set(c, name, value) return c("CONFIG", "SET", name, value) end
local function get(c, name) return c("CONFIG", "GET", name)[2] end

-- One that was free: the server listens there now.
local function free(c, name)
    local answer
    repeat
        at = at + 1
        answer = set(c, name or "port", at)
    until answer == "OK"
    return at
end

local function refused(port)
    local c = resp.tcp(port)
    if c then c:close() end
    return c == nil
end

local function answers(port)
    local c = assert(resp.tcp(port))
    local fine = c("PING") == "PONG"
    c:close()
    return fine
end

-- All workers serve at this port.
local function all_serve(port)
    local seen, n = {}, 0
    check.wait(function()
        local c = assert(resp.tcp(port))
        local worker = check.info(c, "worker")
        c:close()
        n = n + (seen[worker] and 0 or 1)
        seen[worker] = true
        return n == workers
    end)
end

local function read(name)
    local f = io.open(name)
    local text = f and f:read("*a") or ""
    if f then f:close() end
    return text
end

local function case(name, f)
    check.case(name, function(c)
        is(set(c, "port", 0), "OK")
        is(set(c, "bind", "127.0.0.1"), "OK")
        local fine, why = pcall(f, c)
        local last = check.connect() -- c's worker may have been killed
        set(last, "port", 0)
        last:close()
        if not fine then error(why, 0) end
    end)
end

case("the port is another one, and clients that are connected stay", function(c)
    local a = free(c)
    local stays = assert(resp.tcp(a))
    is(stays("PING"), "PONG")
    all_serve(a)
    local b = free(stays)
    is(refused(a), true)
    is(stays("PING"), "PONG")
    all_serve(b)
    is(get(c, "port"), tostring(b))
    is(c("INFO", "server"):match("tcp_port:(%d+)"), tostring(b))
    is(set(c, "port", b), "OK")
    is(set(c, "port", 0), "OK")
    is(refused(b), true)
    is(stays("PING"), "PONG")
    stays:close()
end)

case("another server may have the port that was left", function(c)
    local a = free(c)
    local other = ("%s/other"):format(folder)
    os.execute("mkdir -p " .. other)
    local b = free(c)
    os.execute(("%s %s/x --shm-dir %s --port %d --unix %s/s 2>%s/log & echo $! >%s/pid")
        :format(program, other, other, a, other, other, other))
    local there
    check.wait(function()
        there = resp.connect(other .. "/s")
        return there or read(other .. "/log"):match("listens there")
    end)
    is(read(other .. "/log"):match("listens there"), nil)
    -- and while it has it, it is not ours
    local answer = set(c, "port", a)
    is(answer.error, wrong:format("port", "Unable to listen on this port. Check server logs."))
    is(get(c, "port"), tostring(b))
    all_serve(b)
    is(answers(a), true)
    there:close()
    ffi.C.kill(tonumber(read(other .. "/pid")), SIGTERM)
    check.wait(function() return refused(a) end)
    is(set(c, "port", a), "OK")
    all_serve(a)
    is(refused(b), true)
end)

case("addresses are others", function(c)
    local a = free(c)
    for _, bind in ipairs{"*", "127.0.0.1", "127.0.0.1 -::1", "127.0.0.1 -10.255.255.254", "*"} do
        is(set(c, "bind", bind), "OK")
        is(get(c, "bind"), bind)
        all_serve(a)
    end
    for _, bind in ipairs{"999.1.1.1", "127.0.0.1 127.0.0.1", "* 127.0.0.1", "10.255.255.254"} do
        is(set(c, "bind", bind).error, wrong:format("bind", "Failed to bind to specified addresses."))
        is(get(c, "bind"), "*")
        is(answers(a), true)
    end
    is(set(c, "bind", ("1.2.3.4 "):rep(17)).error, wrong:format("bind", "Too many bind addresses specified."))
    is(set(c, "bind", ""), "OK")
    is(refused(a), true)
    is(set(c, "bind", "127.0.0.1"), "OK")
    all_serve(a)
end)

case("all pairs are set, or none", function(c)
    local a = free(c)
    local b = free(c)
    is(set(c, "port", a), "OK")
    fails(c("CONFIG", "SET", "port", b, "maxclients", "x"),
        wrong:format("maxclients", ""))
    fails(c("CONFIG", "SET", "timeout", 77, "bind", "1.2.3.4", "port", b),
        wrong:format("bind", "Failed to bind"))
    fails(c("CONFIG", "SET", "port", b, "bind", "1.2.3.4"),
        wrong:format("port", "Unable to listen"))
    fails(c("CONFIG", "SET", "tls-port", b),
        wrong:format("tls-port", "Unable to update TLS configuration."))
    is(c("CONFIG", "GET", "timeout", "port", "bind"),
        {"bind", "127.0.0.1", "port", tostring(a), "timeout", "0"})
    is(refused(b), true)
    all_serve(a)
    is(c("CONFIG", "SET", "port", b, "bind", "*"), "OK")
    is(refused(a), true)
    all_serve(b)
end)

case("what waits at a port is served when the server leaves it", function(c)
    local a = free(c)
    local b = free(c)
    is(set(c, "port", a), "OK")
    for _ = 1, 5 do
        local list = {}
        c:send(resp.encode("DEBUG", "SLEEP", "0.2") .. resp.encode("CONFIG", "SET", "port", b))
        for i = 1, 8 do -- some of them come to the worker that sleeps
            list[i] = assert(resp.tcp(a))
            list[i]:write("ECHO", i)
        end
        is({c:read(), c:read()}, {"OK", "OK"})
        for i = 1, 8 do
            is(list[i]:read(), tostring(i))
            list[i]:close()
        end
        a, b = b, a
    end
end)

case("several clients change the port at once", function(c)
    local a = free(c)
    local b = free(c)
    local list = check.spread(2 * workers)
    for round = 1, 10 do
        for i, one in ipairs(list) do one:write("CONFIG", "SET", "port", (i + round) % 2 == 0 and a or b) end
        for _, one in ipairs(list) do is(one:read(), "OK") end
        local port = tonumber(get(c, "port"))
        is(port == a or port == b, true)
        is(refused(a + b - port), true)
        is(answers(port), true)
    end
    all_serve(tonumber(get(c, "port")))
    for _, one in ipairs(list) do one:close() end
end)

case("workers are killed meanwhile", function(c)
    local a = free(c)
    local b = free(c)
    local changed = 0
    for round = 1, 36 do
        local wanted = tonumber(get(c, "port")) == a and b or a
        local victims = check.workers()
        local one = check.connect()
        one:write("CONFIG", "SET", "port", wanted)
        local later = os.clock() + round * 0.00005
        while os.clock() < later do end
        ffi.C.kill(victims[1 + round % #victims], SIGKILL) -- that which is asked, or another
        local fine, answer = pcall(one.read, one)
        one:close()
        local port
        check.wait(function()
            c:close()
            c = check.connect()
            local told
            told, port = pcall(get, c, "port")
            return told
        end)
        port = tonumber(port)
        if fine and answer == "OK" then is(port, wanted) end
        if port == wanted then changed = changed + 1 end
        check.wait(function() return refused(a + b - port) end)
        check.wait(function() -- one that is started anew has the port too
            local told, yes = pcall(answers, port)
            return told and yes
        end)
    end
    is(changed > 0, true)
    all_serve(tonumber(get(c, "port")))
    is(set(c, "port", a), "OK")
    all_serve(a)
end)

case("a worker that is busy follows when it can", function(c)
    if workers == 1 then return end
    local a = free(c)
    local list = check.spread(workers)
    list[1]:write("DEBUG", "SLEEP", "1.5")
    local b = free(list[2])
    is(list[1]:read(), "OK")
    check.wait(function() return refused(a) end)
    all_serve(b)
    for _, one in ipairs(list) do one:close() end
end)

-- A server of its own, with a file: its number.
local function own(name)
    os.execute(("rm -rf %s/%s && mkdir %s/%s"):format(folder, name, folder, name))
    os.execute(("cd %s/%s && printf 'port 0\nunixsocket %s/%s/s\n' >conf && "
        .. "{ %s data.caret --config conf --shm-dir . --workers %d 2>log & echo $! >pid; }")
        :format(folder, name, folder, name, program, workers))
    return tonumber(read(folder .. "/" .. name .. "/pid"))
end

local function to(name)
    local c
    check.wait(function()
        c = resp.connect(folder .. "/" .. name .. "/s")
        return c and pcall(c, "PING")
    end)
    return c
end

local function gone(pid)
    local state = read("/proc/" .. pid .. "/status"):match("State:%s*(%a)")
    return state == nil or state == "Z"
end

case("another server that takes over has the port, and can change it", function()
    local pid = own("over")
    local c = to("over")
    local a = free(c)
    is(set(c, "bind", "127.0.0.1"), "OK")
    c:close()
    ffi.C.kill(pid, SIGUSR2)
    local new
    check.wait(function()
        new = read(folder .. "/over/log"):match("process (%d+) has taken over")
        return new and gone(pid)
    end)
    c = to("over")
    is(get(c, "port"), tostring(a))
    is(get(c, "bind"), "127.0.0.1")
    all_serve(a)
    local b = free(c)
    is(refused(a), true)
    all_serve(b)
    is(c("CONFIG", "REWRITE"), "OK")
    c:close()
    ffi.C.kill(tonumber(new), SIGTERM)
    check.wait(function() return gone(tonumber(new)) end)
    local text = "\n" .. read(folder .. "/over/conf")
    is(text:match("\nport (%d+)"), tostring(b))
    is(text:match("\nbind ([^\n]+)"), "127.0.0.1")
    is(refused(b), true)
end)

case("nobody gets in after SHUTDOWN has ended its connection", function()
    for _ = 1, 5 do
        local pid = own("down")
        local c = to("down")
        local a, long = free(c), to("down")
        c("CONFIG", "SET", "busy-reply-threshold", "10")
        long:write("EVAL", "redis.call('SET', 'a', 1) while true do end", "0")
        check.wait(function() return (c("PING").error or ""):sub(1, 4) == "BUSY" end)
        c:write("SHUTDOWN", "NOSAVE")
        while c:more() do end
        is(refused(a), true)
        is(resp.connect(folder .. "/down/s"), nil)
        check.wait(function() return gone(pid) end)
    end
end)

check.run()
