-- Scripts that take long: nobody waits for them, and they can be ended.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails

ffi.cdef "int kill(int, int);"

-- Ends when the key `go` is set: by somebody else, so by another attempt of the transaction.
local waits = "redis.call('incr', 'runs') repeat until redis.call('get', 'go') return 'went'"

local bytes = resp.encode

-- Start a script on a connection of its own.
local function start(...)
    local c = check.connect()
    c:send(bytes(...))
    return c
end

-- End what is said to run for longest, once it is said.
local function kill(c, container)
    local answer
    repeat answer = c(container or "SCRIPT", "KILL") until answer == "OK"
end

local function nobody_waits()
    for i = 1, 4 do
        local c = check.connect()
        for k = 1, 50 do is(c("SET", "other" .. i, k), "OK") end
        is(c("GET", "other" .. i), "50")
    end
end

-- The first case, as runs are numbered by their worker, and this one is to be the first of its worker.
case("a worker ends no run because the one before it was to end one", function(c)
    local workers = check.workers()
    start("EVAL", "while true do end", 0)
    kill(c)
    for _, pid in ipairs(workers) do ffi.C.kill(pid, 9) end
    check.wait(function()
        local fine, n = pcall(function() return check.info(check.connect(), "worker_restarts") end)
        return fine and n == #workers
    end)
    fails(check.connect()("SCRIPT", "KILL"), "NOTBUSY")
    local long = "for i = 1, 300 do redis.sha1hex(('x'):rep(1e5)) end return 1"
    for _, other in ipairs(check.spread(#workers)) do
        for _ = 1, 3 do is(other("EVAL", long, 0), 1) end
    end
end)

case("nobody waits for a script that waits for somebody", function(c)
    local one = start("EVAL", waits, 0)
    nobody_waits()
    c("SET", "go", "1")
    is(one:read(), "went")
    is(c("GET", "runs"), "1")
end)

case("nobody waits for one that calls nothing", function(c)
    local one = start("EVAL", "while true do end", 0)
    nobody_waits()
    kill(c)
    fails(one:read(), "ERR Script killed by user with SCRIPT KILL... script: ")
    is(one("GET", "other1"), "50")
end)

case("several at once, and the order of answers", function(c)
    local list = {}
    for i = 1, 5 do
        list[i] = check.connect()
        list[i]:send(bytes("SET", "a" .. i, i) .. bytes("EVAL", waits, 0) .. bytes("INCR", "a" .. i) ..
            bytes("EVAL", "return redis.call('get', KEYS[1])", 1, "a" .. i) .. bytes("PING"))
    end
    nobody_waits()
    c("SET", "go", "1")
    for i, one in ipairs(list) do
        is(one:read(), "OK")
        is(one:read(), "went")
        is(one:read(), i + 1)
        is(one:read(), tostring(i + 1))
        is(one:read(), "PONG")
    end
    is(c("GET", "runs"), "5")
end)

case("whatever a script does, it can be ended", function(c)
    for _, script in ipairs({
        "local i = 0 while true do i = i + 1 end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() error() end, function() while true do end end) end",
        "coroutine.wrap(function() while true do end end)()",
        "return ('a'):rep(40):find(('a*'):rep(40) .. 'b')",
        "while true do cjson.encode({1, 2, 3}) end",
        "redis.call('set', 'written', 1) while true do pcall(redis.call, 'incr', 'written') end",
        "while true do redis.pcall('get', 'x') end",
        "local t, x = {}, ('x'):rep(1e7) for i = 1, 40 do t[i] = x end while true do table.concat(t) end",
        "local x = ('x'):rep(5e7) while true do redis.sha1hex(x .. 'y') end",
    }) do
        local one = start("EVAL", script, 0)
        kill(c)
        fails(one:read(), "ERR Script killed by user")
        is(one("EVAL", "return 7", 0), 7)
    end
    is(c("GET", "written"), resp.null)
end)

-- A client that keeps what it has read of the key t.
local function tracker(...)
    local one = check.connect()
    one("HELLO", "3")
    one("CLIENT", "TRACKING", "ON", ...)
    one("GET", "t")
    return one
end

-- Wait until the script that runs alone has lost the loop of its worker: one of `others` is at the same.
local function lost(c, others)
    check.wait(function() return c("FUNCTION", "STATS")[2] ~= resp.null end)
    for _, other in ipairs(others) do is(other("PING"), "PONG") end
end

local all_changed = {push = {"invalidate", resp.null}}

case("nobody waits for a script of a client that tracks keys, and it can be ended", function(c)
    local one, others = tracker(), check.spread(#check.workers())
    one:send(bytes("EVAL", "while true do end", 0))
    lost(c, others)
    nobody_waits()
    kill(c)
    fails(one:read(), "ERR Script killed by user")
    is(one:read(), all_changed)
    is(one("PING"), "PONG")
    one:close()
end)

case("a client that tracks is told after a long script that all may have changed", function(c)
    local others = check.spread(#check.workers())
    for _, exec in ipairs{false, true} do
        check.wait(function() return c("INFO", "clients"):find("tracking_clients:0\r", 1, true) end)
        c("FLUSHALL") -- which nobody is told of
        c("SET", "k", "1")
        local one, by_prefix = tracker(), tracker("BCAST", "PREFIX", "t")
        local eval = bytes("EVAL", waits, 0)
        one:send(exec and bytes("MULTI") .. bytes("GET", "k") .. eval .. bytes("EXEC") or eval)
        lost(c, others)
        by_prefix:send(eval)
        nobody_waits()
        c("SET", "t", "2")
        c("SET", "go", "1")
        for _ = 1, exec and 3 or 0 do one:read() end
        is(one:read(), exec and {"1", "went"} or "went")
        local first, second = one:read(), one:read()
        -- The letter about t may have been read after the script's end.
        if first.push[2] == resp.null then first, second = second, first end
        is({first, second}, {{push = {"invalidate", {"t"}}}, all_changed})
        first, second = by_prefix:read(), by_prefix:read()
        if first ~= "went" then first, second = second, first end -- its script had not begun
        is({first, second}, {"went", {push = {"invalidate", {"t"}}}})
        is(one("GET", "t"), "2") -- and from now on each change is told again
        c("SET", "t", "3")
        is(one:read(), {push = {"invalidate", {"t"}}})
        is(by_prefix:read(), {push = {"invalidate", {"t"}}})
        one:close()
        by_prefix:close()
    end
end)

-- A client of RESP3 that messages come to, alone: that an earlier one has closed its end may not have been
-- seen yet.
local function listener(c)
    check.wait(function() return c("PUBSUB", "NUMSUB", "news")[2] == 0 end)
    local one = check.connect()
    one("HELLO", "3")
    one("SUBSCRIBE", "news")
    return one
end

case("nobody waits for a script of a client that messages come to, and it can be ended", function(c)
    local one = listener(c)
    one:send(bytes("EVAL", "while true do end", 0))
    nobody_waits()
    kill(c)
    fails(one:read(), "ERR Script killed by user")
    is(one("PING"), "PONG")
    one:close()
end)

case("messages for its client come after the answer of a script, in their order", function(c)
    for _, exec in ipairs{false, true} do
        c("FLUSHALL")
        c("SET", "k", "1")
        local one, eval = listener(c), bytes("EVAL", waits, 0)
        one:send(exec and bytes("MULTI") .. bytes("GET", "k") .. eval .. bytes("EXEC") or eval)
        nobody_waits()
        for i = 1, 100 do is(c("PUBLISH", "news", i), 1) end
        c("SET", "go", "1")
        for _ = 1, exec and 3 or 0 do one:read() end
        is(one:read(), exec and {"1", "went"} or "went")
        for i = 1, 100 do is(one:read(), {push = {"message", "news", tostring(i)}}) end
        is(one("PING"), "PONG")
        one:close()
    end
end)

case("scripts within EXEC", function(c)
    local one = check.connect()
    one:send(bytes("MULTI") .. bytes("INCR", "a") .. bytes("EVAL", waits, 0) ..
        bytes("EVAL", "return redis.call('incr', 'a')", 0) .. bytes("EXEC") .. bytes("GET", "a"))
    nobody_waits()
    is(c("GET", "a"), resp.null)
    c("SET", "go", "1")
    for _ = 1, 4 do one:read() end
    is(one:read(), {1, "went", 2})
    is(one:read(), "2")
    one:send(bytes("MULTI") .. bytes("INCR", "a") .. bytes("EVAL", "while true do end", 0) ..
        bytes("EVAL", "return redis.call('incr', 'a')", 0) .. bytes("EXEC") .. bytes("GET", "a"))
    kill(c)
    for _ = 1, 4 do one:read() end
    local answers = one:read()
    is(answers[1], 3)
    fails(answers[2], "ERR Script killed by user")
    is(answers[3], 4)
    is(one:read(), "4")
end)

case("within EXEC, after one that lost its thread, and a command that took long", function(c)
    local one, endless = check.connect(), "while true do end"
    local name = c("SCRIPT", "LOAD", endless)
    one:send(bytes("MULTI") .. bytes("EVAL", "for i = 1, 3e8 do end", 0) .. bytes("DEBUG", "SLEEP", "0.3") ..
        bytes("EVAL", endless, 0) .. bytes("EXEC"))
    check.wait(function()
        local running = c("FUNCTION", "STATS")[2]
        return running ~= resp.null and running[2] == name
    end)
    kill(c)
    for _ = 1, 4 do one:read() end
    fails(one:read()[3], "ERR Script killed by user")
end)

case("a client that leaves, or is ended, while its script runs", function(c)
    local one = start("EVAL", waits, 0)
    nobody_waits()
    one:close()
    c("SET", "go", "1")
    repeat until c("GET", "runs") == "1"
    nobody_waits()
end)

case("functions: what runs is told, and ended by FUNCTION KILL", function(c)
    c("FUNCTION", "LOAD", [[#!lua name=lib
redis.register_function("endless", function() while true do end end)]])
    fails(c("FUNCTION", "KILL"), "NOTBUSY No scripts in execution right now.")
    local one = start("FCALL", "endless", 1, "key", "x")
    local running
    repeat running = c("FUNCTION", "STATS")[2] until running ~= resp.null
    is(running[2], "endless")
    is(running[4], {"FCALL", "endless", "1", "key", "x"})
    fails(c("SCRIPT", "KILL"), "NOTBUSY")
    kill(c, "FUNCTION")
    fails(one:read(), "ERR Script killed by user with SCRIPT KILL... script: endless, on @user_function:")
    c("FUNCTION", "FLUSH")
end)

-- A program that has the database open itself: the tool.
local function set_go()
    local tool = (os.getenv("CARET_BUILD") or "../../build") .. "/caret"
    local file = os.getenv("SERVE_FOLDER") .. "/data.caret"
    assert(os.execute(("%q set '^redis(\"go\")' 1 --db %q >/dev/null"):format(tool, file)) == 0)
end

case("with a threshold, others are told BUSY, as in Redis", function(c)
    local busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
    c("CONFIG", "SET", "busy-reply-threshold", "10")
    local one = start("EVAL", "redis.call('set', 'a', 1) " .. waits, 0)
    local answer
    repeat answer = c("PING") until answer ~= "PONG"
    fails(answer, busy)
    fails(c("FUNCTION", "KILL"), busy)
    is(c("MULTI"), "OK")
    fails(c("SET", "b", "1"), busy)
    fails(c("EXEC"), "EXECABORT Transaction discarded because of: " .. busy)
    fails(c("SCRIPT", "KILL"), "UNKILLABLE Sorry the script already executed write commands")
    set_go()
    is(one:read(), "went")
    one:send(bytes("EVAL", "while true do end", 0))
    repeat answer = c("PING") until answer ~= "PONG"
    kill(c)
    is({c("PING"), check.connect()("PING")}, {"PONG", "PONG"}) -- while it ends
    fails(one:read(), "ERR Script killed by user")
    is(c("CONFIG", "SET", "busy-reply-threshold", "5000"), "OK")
end)

case("the server stops while scripts run", function() -- which run.sh does
    start("EVAL", "while true do end", 0)
    start("EVAL", "while true do redis.call('incr', 'x') end", 0)
    nobody_waits()
end)

check.run()
