-- SIGUSR2: another server takes over, and no request fails. What other clients do, and what was begun, goes
-- on.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local is = check.is
ffi.cdef "int kill(int, int);"
local SIGUSR2, SIGTERM, SIGKILL = 12, 15, 9

local folder = os.getenv("SERVE_FOLDER") .. "/own"
local program = (os.getenv("CARET_BUILD") or os.getenv("PWD") .. "/../../build") .. "/caret-server"
local path = folder .. "/s"

local servers = {} -- that were started

-- What fails leaves none of them.
local function case(name, f)
    check.case(name, function()
        local fine, wrong = pcall(f)
        for _, pid in ipairs(fine and {} or servers) do ffi.C.kill(pid, SIGKILL) end
        servers = {}
        if not fine then error(wrong, 0) end
    end)
end

local function read(name)
    local f = io.open(name)
    local text = f and f:read("*a") or ""
    if f then f:close() end
    return text
end

local function connect()
    local c
    check.wait(function()
        c = resp.connect(path)
        return c
    end)
    return c
end

-- A server of its own: its number. The program is a copy, which can be replaced.
local function start()
    os.execute("rm -rf " .. folder .. " && mkdir " .. folder)
    os.execute(("cp %s %s/server && cd %s && { ./server data.caret --shm-dir . --port 0 --unix %s "
        .. "--workers 2 --pidfile %s/pid 2>log & echo $! >first; }")
        :format(program, folder, folder, path, folder))
    connect():close()
    servers[#servers + 1] = tonumber(read(folder .. "/first"))
    return servers[#servers]
end

local function gone(pid)
    local state = read("/proc/" .. pid .. "/status"):match("State:%s*(%a)")
    return state == nil or state == "Z"
end

-- Another one takes over from pid: its number.
local function take_over(pid)
    os.execute(("cp %s %s/new && mv %s/new %s/server"):format(program, folder, folder, folder))
    ffi.C.kill(pid, SIGUSR2)
    local pattern, new = "caret serve%[" .. pid .. "%]: process (%d+) has taken over", nil
    check.wait(function()
        new = read(folder .. "/log"):match(pattern)
        return new
    end)
    servers[#servers + 1] = tonumber(new)
    return servers[#servers]
end

local function stop(pid)
    ffi.C.kill(pid, SIGTERM)
    check.wait(function() return gone(pid) end)
end

case("no request fails while two servers follow the first", function()
    local pid, loads = start(), 3
    for i = 1, loads do
        os.execute(("luajit takeover_load.lua %s %s %d &"):format(path, folder, i))
    end
    local c = connect()
    local function busy(more) -- all have done so many more
        for i = 1, loads do
            c("SELECT", i)
            local from = tonumber(tostring(c("GET", "n" .. i))) or 0
            check.wait(function()
                local n = tonumber(tostring(c("GET", "n" .. i))) or 0
                return n >= from + more or read(folder .. "/load." .. i) ~= ""
            end)
        end
    end
    busy(100)
    for _ = 1, 2 do
        local new = take_over(pid)
        check.wait(function() return gone(pid) end)
        is(gone(new), false)
        pid = new
        busy(100)
    end
    io.open(folder .. "/stop", "w"):close()
    for i = 1, loads do
        check.wait(function() return read(folder .. "/load." .. i) ~= "" end)
        c("SELECT", i)
        is(read(folder .. "/load." .. i), c("GET", "n" .. i) .. "\n")
    end
    check.wait(function() return tonumber(read(folder .. "/pid")) == pid end)
    c:close()
    stop(pid)
    is(io.open(path), nil)
end)

case("what a connection is, it remains", function()
    local pid = start()
    local listener, tracker, waiter, multi, silent = connect(), connect(), connect(), connect(), connect()
    local watcher, debugger, c = connect(), connect(), connect()
    listener("SUBSCRIBE", "a")
    listener("PSUBSCRIBE", "b*")
    tracker("HELLO", "3")
    tracker("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "k")
    silent:write("CLIENT", "REPLY", "OFF")
    waiter:write("BLPOP", "list", "0")
    multi("MULTI")
    multi("SET", "k1", "x")
    watcher("WATCH", "k2")
    check.wait(function() return c("INFO", "clients"):match("blocked_clients:(%d+)") == "1" end)
    debugger("SCRIPT", "DEBUG", "YES")
    local id = tracker("CLIENT", "ID")
    local new = take_over(pid)
    is(tracker:read(), {push = {"invalidate", resp.null}})
    is(tracker("CLIENT", "ID"), id)
    check.wait(function() return c("PUBLISH", "a", "1") == 1 end) -- both are there
    check.wait(function() return c("PUBLISH", "b1", "2") == 1 end)
    is(gone(pid), false) -- some have begun what can't be moved
    is(multi("EXEC"), {"OK"})
    is(c("RPUSH", "list", "y"), 1)
    is(waiter:read(), {"list", "y"})
    c("SET", "k2", "z")
    watcher("MULTI")
    watcher("GET", "k1")
    is(watcher("EXEC"), resp.null)
    silent:write("SET", "k3", "w")
    check.wait(function() return gone(pid) end)
    check.wait(function() return c("GET", "k3") == "w" end) -- it gets no answer
    is(c("MGET", "k1", "k2"), {"x", "z"})
    is(listener:read(), {"message", "a", "1"})
    is(silent("CLIENT", "REPLY", "ON"), "OK")
    is(debugger("EVAL", "return 1", "0")[1], "* Stopped at 1, stop reason = step over")
    c("SET", "k9", "1")
    local heard = {}
    check.wait(function()
        local push = tracker:read().push
        for _, key in ipairs(push[2] == resp.null and {} or push[2]) do heard[key] = true end
        return heard.k9
    end)
    for _, one in ipairs{listener, tracker, waiter, multi, silent, watcher, debugger, c} do one:close() end
    stop(new)
end)

case("clients of RESP2 that track, or get the messages of others, remain", function()
    local pid = start()
    local early, target, late, both, own, c = connect(), connect(), connect(), connect(), connect(), connect()
    local id = tostring(target("CLIENT", "ID"))
    target("SUBSCRIBE", "__redis__:invalidate")
    for _, one in ipairs{early, late} do
        is(one("CLIENT", "TRACKING", "ON", "REDIRECT", id, "BCAST"), "OK")
    end
    both("CLIENT", "TRACKING", "ON", "BCAST")
    both("SUBSCRIBE", "a")
    own("CLIENT", "TRACKING", "ON", "REDIRECT", tostring(own("CLIENT", "ID")))
    local new = take_over(pid)
    check.wait(function() return gone(pid) end)
    is(both("PING"), {"pong", ""})
    is(own("CLIENT", "TRACKINGINFO")[2], {"on"})
    for _, one in ipairs{early, late} do
        local info = {"flags", {"on", "bcast"}, "redirect", tonumber(id), "prefixes", {""}}
        is(one("CLIENT", "TRACKINGINFO"), info)
    end
    c("SET", "k", "1")
    local all = {"message", "__redis__:invalidate", resp.null}
    local one = {"message", "__redis__:invalidate", {"k"}}
    is({target:read(), target:read(), target:read(), target:read()}, {all, all, one, one})
    for _, each in ipairs{early, target, late, both, own, c} do each:close() end
    stop(new)
end)

-- How often the workers of that server have waited for anything.
local function waits(pid)
    local n = 0
    for _, worker in ipairs(check.workers(pid)) do
        n = n + tonumber(read("/proc/" .. worker .. "/status"):match("\nvoluntary_ctxt_switches:%s*(%d+)"))
    end
    return n
end

case("for a client that is gone those that sent it their messages hold up nobody", function()
    local pid, n, all = start(), 60, {}
    local target = connect()
    local id = tostring(target("CLIENT", "ID"))
    for i = 1, n do
        all[i] = connect()
        is(all[i]("CLIENT", "TRACKING", "ON", "REDIRECT", id), "OK")
    end
    target("QUIT")
    target:close()
    local new = take_over(pid)
    check.wait(function() return gone(pid) end)
    for _, one in ipairs(all) do
        is(one("CLIENT", "TRACKINGINFO")[2], {"on", "broken_redirect"})
    end
    is(waits(new) < n * 50, true)
    for _, one in ipairs(all) do one:close() end
    stop(new)
end)

case("a server that can't take over changes nothing", function()
    local pid = start()
    local c = connect()
    c("SET", "a", "1")
    os.execute(("printf '#!/bin/sh\\nexit 3\\n' >%s/new && chmod +x %s/new && mv %s/new %s/server")
        :format(folder, folder, folder, folder))
    for _ = 1, 2 do
        local before = select(2, read(folder .. "/log"):gsub("has not taken over", ""))
        ffi.C.kill(pid, SIGUSR2)
        check.wait(function()
            return select(2, read(folder .. "/log"):gsub("has not taken over", "")) > before
        end)
        is(c("GET", "a"), "1")
        connect():close()
    end
    local new = take_over(pid)
    check.wait(function() return gone(pid) end)
    is(c("INCR", "a"), 2)
    c:close()
    stop(new)
end)

case("a routine of M that runs goes on, and so does one in line", function()
    local pid = start()
    os.execute(("ln -s %s %s"):format(program:match(".*/") .. "caret_m.so", folder))
    local file = io.open(os.getenv("CARET_ROUTINES") .. "/take.m", "w")
    file:write("wait f  q:$d(^go)  h 0.005\n q $i(^gone)\n")
    file:close()
    local c, list = connect(), {}
    local first = c("CARET.M", "$$none^take")
    if type(first) == "table" and first.error:find("can't be loaded", 1, true) then return stop(pid) end
    for i = 1, 5 do -- on two workers
        list[i] = connect()
        list[i]:write("CARET.M", "$$wait^take")
    end
    check.wait(function()
        return tonumber(c("INFO", "clients"):match("blocked_clients:(%d+)")) >= 3
    end)
    take_over(pid)
    check.wait(function() return c("CARET.SET", "^go", "1") == "OK" end)
    for i = 1, 5 do is(tonumber(list[i]:read()) ~= nil, true) end
    check.wait(function() return gone(pid) end)
    is(c("CARET.GET", "^gone"), "5")
    stop(servers[#servers])
end)

check.run()
