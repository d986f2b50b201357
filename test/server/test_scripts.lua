-- Scripts: transactions, the sandbox, what is shared by workers, functions.
local check = require "check"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails

-- Three clients that are processes of their own, on as many workers as there are: each sends the command
-- n times.
local function all_at_once(n, ...)
    local words, clients, sleepers = {}, {}, {}
    for i, word in ipairs({...}) do words[i] = "'" .. tostring(word):gsub("'", [['\'']]) .. "'" end
    for i = 1, 3 do
        sleepers[i] = check.connect()
        sleepers[i]:send("DEBUG SLEEP 0.2\r\n")
        local soon = os.clock() + 0.02
        while os.clock() < soon do end -- until it sleeps
        clients[i] = io.popen(("luajit again.lua %d %s"):format(n, table.concat(words, " ")))
    end
    for i = 1, 3 do
        clients[i]:read("*a")
        clients[i]:close()
        sleepers[i]:read()
    end
end

case("a script is one transaction", function(c)
    all_at_once(400, "EVAL", [[
        local n = tonumber(redis.call("get", KEYS[1]) or 0)
        for i = 1, 20 do redis.call("set", "x" .. i, n) end
        return redis.call("set", KEYS[1], n + 1)]], 1, "n")
    is(c("GET", "n"), "1200")
end)

case("a hash that scripts of all workers use again and again is counted rightly", function(c)
    all_at_once(300, "EVAL", [[
        for i = 1, 5 do
            local n = (redis.call("hget", KEYS[1], "n") or 0) + 1
            redis.call("hset", KEYS[1], "n", n)
            redis.call("hset", KEYS[1], n, "")
            redis.call("set", "other", n)
        end]], 1, "h")
    is({c("HGET", "h", "n"), c("HLEN", "h"), c("GET", "other")}, {"4500", 4501, "4500"})
    fails(c("EVAL", "for i = 1, 9 do redis.call('hset', 'h', 'x' .. i, i) end error('no')", 0),
        "ERR user_script")
    is(c("HLEN", "h"), 4510)
    is(c("EVAL", [[
        for i = 1, 3 do redis.call("hset", KEYS[1], "y" .. i, i) end
        return {redis.call("hlen", "h"), caret.node("^redis").h.y3.__, redis.call("hdel", "h", "y1"),
            redis.call("hset", "h", "y2", 1), redis.call("hset", "h", "y4", 1), #redis.call("hkeys", "h")}]],
        1, "h"), {4513, "3", 1, 0, 1, 4513})
    is(c("HLEN", "h"), 4513)
end)

case("a field that a script missed is new when it sets it, and only then", function(c)
    local script = [[
        local h, told = KEYS[1], {}
        local function miss(n) return redis.call("hget", h, n) end
        local function set(n) told[#told + 1] = redis.call("hset", h, n, "v") end
        for n = 1, 600 do miss(n) end -- more than are kept
        for n = 1, 600 do redis.call("hset", h, n, n) end
        miss(1000) set(1000) set(1000)             -- new, and no more
        miss(1001) set("1001") set(1001)           -- by its text
        miss(1002) redis.call("hdel", h, 1002) set(1002) set(1002)
        miss(1003) redis.call("hset", h, 1003, "a", 1004, "b") set(1003) set(1004)
        miss(1005) caret.node("^redis")[h][1005].__ = "by node" set(1005)
        miss(-7) set(-7) set("-7") miss("1006") set(1006)
        miss(1007) redis.call("hset", "other", 1007, "v") set(1007)
        miss(1008) redis.call("del", h) set(1008) miss(1009) set(1009) set(1008)
        told[#told + 1] = redis.call("hlen", h)
        return told]]
    local answers = {1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 2}
    is(c("EVAL", script, 1, "missed"), answers)
    is({c("HLEN", "missed"), #c("HKEYS", "missed")}, {2, 2})
    is(c("EVAL", [[for n = 1, 700 do
        if not redis.call("hget", "mm", n % 350) then redis.call("hset", "mm", n % 350, n) end
    end]], 0), resp.null)
    is({c("HLEN", "mm"), #c("HKEYS", "mm")}, {350, 350})
end)

case("a script that only read so far is one transaction as soon as it does more", function(c)
    local other = check.connect()
    local script = [[
        local n = redis.call("get", KEYS[1])
        if ARGV[1] == "read" then return n end
        for i = 1, 2e7 do n = n + i % 2 - i % 2 end
        if ARGV[1] == "again" then return {n, tonumber(redis.call("get", KEYS[1]))} end
        return redis.call("set", KEYS[1], n + 100)]]
    c("SET", "alone", 0)
    for round = 1, 3 do
        for _ = 1, 20 * 2 ^ round do c("EVAL", script, 1, "alone", "read") end
        c:send(resp.encode("EVAL", script, 1, "alone", "write"))
        other("INCR", "alone")
        c:read()
        is(c("GET", "alone"), tostring(round * 101))
        for _ = 1, 80 * 2 ^ round do c("EVAL", script, 1, "alone", "read") end
        c:send(resp.encode("EVAL", script, 1, "alone", "again"))
        other("INCR", "alone")
        local both = c:read()
        is(both[1], both[2])
        c("DECR", "alone")
    end
    other:close()
end)

case("pcall does not hide that the transaction begins again", function(c)
    all_at_once(1000, "EVAL", [[
        local n
        repeat
            local fine, v = pcall(redis.call, "get", KEYS[1])
            n = tonumber(v or 0)
        until fine
        for i = 1, 100 do xpcall(function() redis.call("get", "x" .. i) end, function() end) end
        for i = 1, 100 do pcall(redis.call, "set", "x" .. i, n) end
        local co = coroutine.create(function() return redis.call("set", KEYS[1], n + 1) end)
        repeat until coroutine.resume(co) or coroutine.status(co) == "dead"
        repeat until pcall(redis.call, "get", KEYS[1])
        return n]], 1, "n")
    is(c("GET", "n"), "3000")
end)

case("scripts that are loaded by one worker are known to all", function()
    local list = check.spread(4)
    local sha = list[1]("SCRIPT", "LOAD", "return ARGV[1] .. 'x'")
    for i, c in ipairs(list) do is(c("EVALSHA", sha, 0, i), i .. "x") end
    is(list[3]("SCRIPT", "EXISTS", sha, ("0"):rep(40)), {1, 0})
    is(list[2]("SCRIPT", "FLUSH"), "OK")
    for _, c in ipairs(list) do
        fails(c("EVALSHA", sha, 0), "NOSCRIPT")
        is(c("SCRIPT", "EXISTS", sha), {0})
    end
end)

case("nothing of a run is left for the next", function(c)
    is(c("EVAL", "KEYS[1] = 'z' KEYS.x = 1 ARGV[9] = 1 setmetatable(KEYS, {}) return 1", 2, "a", "b"), 1)
    is(c("EVAL", "return {KEYS, tostring(KEYS.x), tostring(ARGV[9]), tostring(getmetatable(KEYS))}", 1, "c"),
        {{"c"}, "nil", "nil", "nil"})
    for _, script in ipairs({
        "x = 1", "_G.x = 1", "redis.call = 1", "string.x = 1", "rawset(_G, 'x', 1)", "setmetatable(_G, {})",
        "rawset(string, 'x', 1)", "getmetatable(_G).__index = {}", "getmetatable('').__index = {}",
        "getmetatable(getmetatable('')).x = 1", "KEYS = {}", "math.x = 1", "cjson.x = 1", "coroutine.x = 1",
    }) do
        fails(c("EVAL", script, 0), "ERR ")
        is(c("EVAL", script, 0).error:find("Attempt to modify a readonly table", 1, true) ~= nil, true)
    end
    for _, name in ipairs({"x", "os", "io", "require", "package", "debug", "ffi", "jit", "dofile", "loadfile",
        "getfenv", "setfenv", "newproxy", "print", "module"}) do
        fails(c("EVAL", "return " .. name, 0),
            "ERR user_script:1: Script attempted to access nonexistent global")
    end
end)

case("nothing leads to the true tables of the sandbox", function(c)
    fails(c("EVAL", "local _, t = pairs(redis) t.call = tostring", 0), "ERR user_script:1: Attempt to modify")
    is(c("EVAL", [[local n = 0
        for k, f in pairs(redis) do n = n + (f == redis[k] and 1 or 0) end
        return n > 20]], 0), 1)
    is(c("EVAL", "local f, t = pairs({1, 2}) return {f(t), f(t, 1), tostring(f(t, 2))}", 0), {1, 2, "nil"})
    is(c("EVAL", "return type(string.dump(redis.call))", 0), "string")
    is(c("EVAL", "return tostring(loadstring(string.dump(redis.call)))", 0), "nil")
end)

-- Often, so that LuaJIT compiles it.
case("a script does the same when it is compiled", function(c)
    local tidy = "local k = {KEYS, ARGV, tostring(KEYS.x), tostring(getmetatable(KEYS))} "
    for _ = 1, 300 do
        is(c("EVAL", tidy .. "return k", 1, "a", "b", "c"), {{"a"}, {"b", "c"}, "nil", "nil"})
        is(c("EVAL", tidy .. "KEYS.x = 1 ARGV[7] = 1 return k", 1, "a", "b"), {{"a"}, {"b"}, "nil", "nil"})
        is(c("EVAL", tidy .. "setmetatable(KEYS, {__newindex = error}) KEYS[1] = nil return k", 1, "a"),
            {{}, {}, "nil", "nil"})
        is(c("EVAL", tidy .. "return k", 0), {{}, {}, "nil", "nil"})
    end
    local texts = [[local n = ARGV[1] * 1
        redis.call("set", "n", n)
        redis.call("hset", "h", n, 0.1)
        return {redis.call("get", "n"), redis.call("hget", "h", redis.call("get", "n")),
            redis.call("exists", "n", n), redis.call("get", "none"), redis.call("type", "n").ok,
            tostring(redis.pcall("incr", "h").err), tostring(redis.pcall("get").err),
            redis.pcall().err, tostring(redis.pcall("get", nil).err),
            tostring(redis.pcall("Get", "n", 1).err), redis.call("Get", "n")}]]
    local wrong = "WRONGTYPE Operation against a key holding the wrong kind of value"
    local arity = "ERR Wrong number of args calling Redis command from script"
    local none = "ERR Please specify at least one argument for this redis lib call"
    local types = "ERR Lua redis lib command arguments must be strings or integers"
    for i = 1, 400 do
        local odd = ({"-0", "1e20", "0.5", "-7"})[i % 40 + 1]
        local n = ({["-0"] = "-0", ["1e20"] = "1e+20", ["-7"] = "-7", ["0.5"] = "0.5"})[odd]
        is(c("EVAL", texts, 0, odd or i),
            {n or tostring(i), "0.10000000000000001", 1, resp.null, "string", wrong, arity, none, types,
            arity, n or tostring(i)})
        fails(c("EVAL", "redis.call('incr', 'h')", 0), wrong .. " script: ")
        fails(c("EVAL", "redis.call('get', nil)", 0), types .. " script: ")
        fails(c("EVAL_RO", "redis.call('del', 'h')", 0), "ERR Write commands are not allowed from read-only")
    end
end)

case("strings are those of Lua 5.1, also where LuaJIT would refuse them", function(c)
    local wrong = "ERR Error compiling script (new function): user_script:%d: unfinished string"
    is(c("EVAL", [[return '\.\x41\z \u{41}\65\q' .. "\/\'" ]], 0), ".x41z u{41}Aq/'")
    is(c("EVAL", "--[=[ ' \\x ]=] local s = [[\\x]] -- it's\nreturn s .. '\\d\\\r\n\\n'", 0), "\\xd\n\n")
    is(c("EVAL", [[return loadstring('return "\\."')()]], 0), ".")
    is(c("EVAL", [[
        local t = {'return "', '\\', '-"'}
        return load(function() return table.remove(t, 1) end)()]], 0), "-")
    fails(c("EVAL", "return '\\", 0), wrong:format(1))
    fails(c("EVAL", "\nreturn '\\x\n'", 0), wrong:format(2))
    is(c("FUNCTION", "LOAD", "#!lua name=a\nredis.register_function('f', function() return '\\.' end)"), "a")
    is(c("FCALL", "f", 0), ".")
    is(c("FUNCTION", "FLUSH"), "OK")
end)

case("random numbers after a seed are those of Redis", function(c)
    local script = [[
        math.randomseed(ARGV[1])
        return {math.random(1000000), math.random(-5, 5), tostring(math.random())}]]
    for _ = 1, 2 do
        is(c("EVAL", script, 0, 42), {744526, -2, "0.11108528222474"})
        is(c("EVAL", script, 0, -1.7)[1], 300026)
    end
    fails(c("EVAL", "return math.random(5, 1)", 0), "ERR user_script:1: bad argument #2 to 'random'")
end)

case("chunks of bytes are refused", function(c)
    is(c("EVAL", "return tostring(loadstring(string.dump(function() return 1 end)))", 0), "nil")
    is(c("EVAL", [[
        local code, n = string.dump(function() return 1 end), 0
        return tostring(load(function()
            n = n + 1
            return code:sub(n, n)
        end))]], 0), "nil")
    fails(c("EVAL", "\27Lua", 0), "ERR Error compiling script")
end)

case("what a script wrote before its error stays, and what failed does not", function(c)
    fails(c("EVAL", "redis.call('set', 'a', 1) redis.call('incr', 'a', 1)", 0), "ERR Wrong number of args")
    is(c("GET", "a"), "1")
end)

case("a script in a transaction of MULTI", function(c)
    c("MULTI")
    c("SET", "a", "1")
    c("EVAL", "return redis.call('incr', 'a')", 0)
    c("EVAL", "error('no')", 0)
    local answers = c("EXEC")
    is(answers[2], 2)
    fails(answers[3], "ERR user_script:1: no script: ")
    is(c("GET", "a"), "2")
end)

case("SELECT in a script ends with it", function(c)
    is(c("EVAL", "redis.call('select', 3) return redis.call('set', 'a', 'three')", 0), "OK")
    is(c("GET", "a"), resp.null)
    c("SELECT", "3")
    is(c("GET", "a"), "three")
end)

case("answers of RESP3", function(c)
    c("HELLO", "3")
    is(c("EVAL", "return {double = 3.5}", 0), {double = "3.5"})
    is(c("EVAL", "return {map = {a = 1}}", 0), {map = {"a", 1}})
    is(c("EVAL", "redis.setresp(3) return true", 0), true)
    is(c("EVAL", "return true", 0), 1)
    is(c("EVAL", "return nil", 0), resp.null)
end)

case("a verbatim string that lacks a text is none", function(c)
    is(c("EVAL", "return {verbatim_string = {string = 'x', format = 'txt'}, 1}", 0), "x")
    is(c("EVAL", "return {verbatim_string = {string = 'x'}, 1, 2}", 0), {1, 2})
    is(c("EVAL", "return {0, {verbatim_string = {format = 'txt'}}, 3}", 0), {0, {}, 3})
end)

case("a client that waits for a key is served by a script", function(c)
    local one, two = check.connect(), check.connect()
    one:send(resp.encode("BLPOP", "list", 0))
    repeat until c("INFO", "clients"):match("blocked_clients:1")
    two:send(resp.encode("BLPOP", "list", 0))
    repeat until c("INFO", "clients"):match("blocked_clients:2")
    is(c("EVAL", "return redis.call('rpush', KEYS[1], 'a', 'b', 'c')", 1, "list"), 3)
    is(one:read(), {"list", "a"})
    is(two:read(), {"list", "b"})
    is(c("LPOP", "list"), "c")
end)

local library = [[#!lua name=lib
local n = 0
redis.register_function("count", function() n = n + 1 return n end)
redis.register_function{function_name = "look", flags = {"no-writes"}, callback = function(keys, args)
    return {redis.call("get", keys[1]), args[1]} end}]]

case("functions are known to all workers, and forgotten by all", function(c)
    local list = check.spread(4)
    is(list[1]("FUNCTION", "LOAD", library), "lib")
    c("SET", "k", "v")
    for _, one in ipairs(list) do
        is(one("FCALL", "look", 1, "k", "x"), {"v", "x"})
        is(one("FCALL_RO", "look", 1, "k", "y"), {"v", "y"})
        fails(one("FCALL_RO", "count", 0), "ERR Can not execute a script with write flag")
    end
    is(c("FCALL", "count", 0) + 1, c("FCALL", "count", 0))
    local dump = c("FUNCTION", "DUMP")
    is(list[2]("FUNCTION", "DELETE", "lib"), "OK")
    for _, one in ipairs(list) do fails(one("FCALL", "count", 0), "ERR Function not found") end
    is(list[3]("FUNCTION", "RESTORE", dump), "OK")
    fails(list[4]("FUNCTION", "RESTORE", dump), "ERR Library lib already exists")
    is(list[4]("FUNCTION", "RESTORE", dump, "REPLACE"), "OK")
    is(list[1]("FCALL", "look", 1, "k", "z"), {"v", "z"})
    is(c("FUNCTION", "FLUSH"), "OK")
    is(c("FUNCTION", "LIST"), {})
end)

case("what FUNCTION DUMP of Redis answered is restored, and dumped again", function(c)
    local dump = "\245@C#!lua name=yy\nredis.register_function('fz',function() return 1 end)" ..
        "\10\0\240d\179\18\241d\6/"
    is(c("FUNCTION", "RESTORE", dump), "OK")
    is(c("FCALL", "fz", 0), 1)
    is(c("FUNCTION", "DUMP"), dump)
    fails(c("FUNCTION", "RESTORE", (dump:gsub("yy", "zz"))), "ERR DUMP payload version or checksum are wrong")
    is(c("FUNCTION", "FLUSH"), "OK")
    is(c("FUNCTION", "DUMP"):sub(1, 2), "\10\0")
end)

-- f and g change their places, which is allowed, since the payload has both libraries.
case("FUNCTION RESTORE puts libraries in the place of others all at once", function(c)
    local one = "#!lua name=%s\nredis.register_function('%s', function() return '%s' end)"
    c("FUNCTION", "LOAD", one:format("a", "f", "new"))
    c("FUNCTION", "LOAD", one:format("b", "g", "new"))
    local dump = c("FUNCTION", "DUMP")
    c("FUNCTION", "FLUSH")
    c("FUNCTION", "LOAD", one:format("a", "g", "old"))
    c("FUNCTION", "LOAD", one:format("b", "f", "old"))
    fails(c("FUNCTION", "RESTORE", dump), "ERR Library ")
    is(c("FCALL", "f", 0), "old")
    is(c("FUNCTION", "RESTORE", dump, "REPLACE"), "OK")
    is(c("FCALL", "f", 0), "new")
    c("FUNCTION", "FLUSH")
    c("FUNCTION", "LOAD", one:format("c", "g", "other"))
    fails(c("FUNCTION", "RESTORE", dump, "REPLACE"), "ERR Function g already exists")
    fails(c("FCALL", "f", 0), "ERR Function not found") -- and nothing is kept
    is(c("FUNCTION", "RESTORE", dump, "FLUSH"), "OK")
    is(c("FCALL", "g", 0), "new")
    is(c("FUNCTION", "FLUSH"), "OK")
end)

case("a library that EXEC did not keep is not there", function(c)
    local other = check.connect()
    c("SET", "k", "1")
    c("WATCH", "k")
    other("SET", "k", "2")
    c("MULTI")
    c("FUNCTION", "LOAD", library)
    c("FCALL", "count", 0)
    is(c("EXEC"), resp.null)
    fails(c("FCALL", "count", 0), "ERR Function not found")
end)

-- Bytes of Lua's memory that a call takes beyond what stays. It is the least of some attempts: now and then
-- LuaJIT compiles what was run seldom until then.
local function garbage(c, n, ...)
    local count, least = "return tostring(collectgarbage('count') * 1024)", math.huge
    for _ = 1, 500 do c(...) end
    c("EVAL", "collectgarbage() collectgarbage('stop')", 0)
    for _ = 1, 5 do
        c("EVAL", count, 0)
        local before = tonumber(c("EVAL", count, 0))
        for _ = 1, n do c(...) end
        least = math.min(least, (tonumber(c("EVAL", count, 0)) - before) / n)
    end
    c("EVAL", "collectgarbage('restart')", 0)
    return least
end

-- 0.1: the texts of both counts.
local function no_garbage(c, n, ...)
    local bytes = garbage(c, n, ...)
    if bytes > 0.1 then error(("%.2f bytes a call of %s"):format(bytes, tostring((select(2, ...))))) end
end

case("a call makes no garbage but its strings", function(c)
    c("SET", "a", "value")
    c("SET", "n", "5")
    no_garbage(c, 2000, "EVAL", "return redis.call('get', KEYS[1])", 1, "a")
    no_garbage(c, 2000, "EVAL", "for i = 1, 10 do redis.call('hset', KEYS[1], i, ARGV[1]) end", 1, "h", "v")
    no_garbage(c, 2000, "EVAL", "return redis.pcall('strlen', 'a') + redis.call('exists', 'a', 'b')", 0)
    no_garbage(c, 2000, "EVAL", "redis.call('set', KEYS[1], 7) return redis.call('ttl', 'n')", 1, "n")
end)

case("errors of functions tell their line, also from the last call of one", function(c)
    c("FUNCTION", "LOAD", "#!lua name=lib\nlocal x\nredis.register_function('f', function()\n" ..
        "return redis.call('nope') end)\nredis.register_function('g', function()\nredis.call('nope') end)")
    local what = "ERR Unknown Redis command called from script script: %s, on @user_function:%d."
    is(c("FCALL", "f", 0), {error = what:format("f", 4)})
    is(c("FCALL", "g", 0), {error = what:format("g", 6)})
    is(table.concat(c("FUNCTION", "HELP"), "\n"):match("DELETE[^\n]*"), "DELETE <LIBRARY NAME>")
    c("FUNCTION", "FLUSH")
end)

case("nodes, within the transaction of a script", function(c)
    is(c("EVAL", [[
        local oaks = caret.node("^oaks")
        oaks:kill()
        oaks[1].shadow.__ = 15
        oaks[1].name = "Quercus"
        oaks(2, "shadow"):set(7.5)
        oaks[3].get = "a child by the name of a method"
        local subs = {}
        for sub in oaks:subscripts() do subs[#subs + 1] = sub end
        for sub in oaks:subscripts(true) do subs[#subs + 1] = sub end
        return {oaks[1].shadow.__, oaks[1].name:get(), tostring(oaks[2].shadow:number()), subs,
            oaks[1].shadow:incr(5), oaks[1]:data(), oaks:exists(), tostring(oaks[9].__), oaks[9]:get("none"),
            oaks[3].get.__, oaks[1].shadow:__number()}]], 0),
        {"15", "Quercus", "7.5", {1, 2, 3, 3, 2, 1}, 20, 10, 1, "nil", "none",
            "a child by the name of a method", 20})
    is(c("EVAL", [[
        local at, sum = caret.node("^oaks"):cursor(1), 0
        for i = 1, 100 do at:move(i):set(i) end
        for i = 1, 100 do sum = sum + at:move(i):number() end
        caret.node("^oaks", 50):delete()
        return {sum, tostring(caret.node("^oaks", 50):get())}]], 0), {5050, "nil"})
    is(c("EVAL", [[
        local at = caret.node("^oaks"):cursor(1)
        at:move(1 / 3):set(1)
        at:move("sum"):incr(123456789012345678)
        at:incr(.1)
        return {tostring(caret.node("^oaks")[1 / 3].__), at.__}]], 0), {"1", "123456789012345680.1"})
    is(c("EVAL", "redis.call('set', 'k', 'v') return caret.node('^redis').k.__", 0), "v")
    fails(c("EVAL", "caret.node('^oaks').kept = 1 error('no')", 0), "ERR user_script:1: no")
    is(c("EVAL", "return caret.node('^oaks').kept.__", 0), "1")
    for script, why in pairs({
        ["return caret.node('oaks')"] = "ERR the name of a variable begins with ^",
        ["return caret.node('^oaks', {})"] = "ERR a subscript is a string or a number",
        ["caret.node('^oaks').x = {}"] = "ERR a value is a string, a number or nil",
        ["caret.node('^oaks').x:nothing()"] = "ERR nodes have no such method",
        ["getmetatable(caret.node('^oaks')).__index = 1"] = "ERR ",
        ["caret.node = 1"] = "ERR user_script:1: Attempt to modify a readonly table",
        ["caret.node('^oaks').kept:__move(1)"] = "ERR only a cursor can be moved",
        ["caret.node('^oaks'):cursor(1):__move({})"] = "ERR a subscript is a string or a number",
        ["caret.node('^oaks'):cursor(1):__move(0/0)"] = "ERR INVALID: NaN is not a subscript",
        ["caret.node('^oaks')(caret.node('^x'))"] = "ERR a node is not a subscript",
        ["caret.node()"] = "ERR the name of a variable begins with ^",
        ["caret.node('^oaks').x:incr({})"] = "ERR an increment is a number, or its text",
        ["caret.node('^oaks').x:incr(1e300)"] = "ERR NUMOFLOW: ",
    }) do
        fails(c("EVAL", script, 0), why)
    end
    fails(c("EVAL_RO", "caret.node('^oaks').x = 1", 0), "ERR Write commands are not allowed from read-only")
    is(c("EVAL_RO", "return caret.node('^oaks').kept.__", 0), "1")
    c("EVAL", "caret.node('^oaks'):kill()", 0)
end)

-- So often that it is compiled; what is not a node, or is used wrongly, is refused as before.
case("nodes: a script does the same when it is compiled", function(c)
    local script = [[
        local at, sum, wrong = caret.node("^oaks"):cursor(1), 0, {}
        local number, set, get, move, incr = at.__number, at.__set, at.__get, at.__move, at.__incr
        for i = 1, 50 do set(move(at, i), i % 2 == 0 and i or i .. ".5") end
        for i = 1, 51 do sum = sum + number(move(at, i), 1000) end
        for i = 1, 50 do sum = sum + incr(move(at, i), 2) - at.__ end
        at:move(7).__ = "x"
        for _, one in ipairs({5, "text", {}, cjson.null, coroutine.create(incr)}) do
            for _, f in ipairs({number, set, get, move, incr, at.__data, at.__exists}) do
                local fine, e = pcall(f, one, 1)
                if fine or e ~= "ERR a node is expected; methods are called as n:name()" then
                    wrong[#wrong + 1] = tostring(e)
                end
            end
        end
        return {sum, at.__, tostring(get(at:move(99))), get(at, "none"), pcall(number, at:move(7)),
            pcall(move, caret.node("^oaks"), 1), at:data(), at:exists(), at[1]:exists(), wrong,
            pcall(set, at, {}), pcall(incr, at:move(8), 0.5), at.__, set(at, nil), at:data()}]]
    local first
    for _ = 1, 40 do
        local answer = c("EVAL", script, 0)
        first = first or answer
        is(answer, first)
    end
    is({first[1], first[2], first[3]}, {2287, "x", "nil"})
    is(first[10], {})
    c("EVAL", "caret.node('^oaks'):kill()", 0)
end)

case("nodes: two numbers that a compiled script asks for are two", function(c)
    is(c("EVAL", [[
        local n = caret.node("^oaks")
        local a, b, wrong, min = n.a, n.b, {}, math.min
        a.__, b[1].__ = 25, 3
        local number, data = a.__number, a.__data
        local function check(name, right) if not right then wrong[name] = (wrong[name] or 0) + 1 end end
        for _ = 1, 2000 do check("less", data(b) < number(a)) end
        for _ = 1, 2000 do check("equal", number(a) ~= data(b)) end
        for _ = 1, 2000 do check("least", min(number(a), data(b)) == 10) end
        for _ = 1, 2000 do
            local x, y = data(b), number(a)
            check("minus", y - x == 15)
        end
        local all = {}
        for name, times in pairs(wrong) do all[#all + 1] = name .. " " .. times end
        return all]], 0), {})
    c("EVAL", "caret.node('^oaks'):kill()", 0)
end)

case("nodes: scripts of all workers count as one", function(c)
    all_at_once(400, "EVAL", "local n = caret.node('^counts').n n.__ = n:number(0) + 1 return n.__", 0)
    is(c("EVAL", "return caret.node('^counts').n.__", 0), "1200")
    c("EVAL", "caret.node('^counts'):kill()", 0)
end)

case("errors of what a script ends with have its place, and their function's name, also later", function(c)
    for _, one in ipairs({
        {"return cjson.decode('')", "1: Expected value but found T_END at character 1"},
        {"local x = 1\n\nreturn cmsgpack.unpack('\\193')\n", "3: Bad data format in input."},
        {"return struct.pack('i')", "1: bad argument #2 to 'pack' (number expected, got nil)"},
        {"return string.rep()", "1: bad argument #1 to 'rep' (string expected, got no value)"},
        {"return tonumber()", "1: bad argument #1 to 'tonumber' (value expected)"},
        {"return assert(false, 'x')", "1: x"},
        {"return error('driver:4: x')", "1: driver:4: x"},
        {"return cjson.encode({[true] = 's'})",
            "1: Cannot serialise boolean: table key must be a number or string"},
    }) do
        local text = ("ERR user_script:%s script: "):format(one[2])
        fails(c("EVAL", one[1], 0), text)
        c:send(resp.encode("EVAL", one[1], 0):rep(300))
        for _ = 1, 300 do fails(c:read(), text) end
    end
    fails(c("EVAL", "return error('x', 0)", 0), "ERR x script: ")
    c("FUNCTION", "LOAD", "#!lua name=l\n" ..
        "redis.register_function('f', function()\nreturn cjson.decode('') end)")
    fails(c("FCALL", "f", 0),
        "ERR user_function:3: Expected value but found T_END at character 1 script: f, ")
    c("FUNCTION", "FLUSH")
end)

case("a script of RESP3 gets positions as numbers", function(c)
    c("GEOADD", "g", "13.361389", "38.115556", "a")
    local script = "redis.setresp(3) local p = redis.call('geopos', KEYS[1], 'a')[1] return p[1].double and p"
    is(table.concat(c("EVAL", script, "1", "g"), " "), "13.361389338970184 38.115556395496299")
    is(table.concat(c("EVAL", "return redis.call('geopos', KEYS[1], 'a')[1]", "1", "g"), " "),
        "13.36138933897018433 38.11555639549629859")
end)

case("bit.tohex tells eight digits at most, as in Redis", function(c)
    is(c("EVAL", "return bit.tohex(-1, 20) .. ' ' .. bit.tohex(255, -9) .. ' ' .. bit.tohex(255, 3)", 0),
        "ffffffff 000000FF 0ff")
    fails(c("EVAL", "return bit.tohex('x')", 0),
        "ERR user_script:1: bad argument #1 to 'tohex' (number expected, got string)")
end)

case("an error of one word gets the code ERR, also with a dash before it", function(c)
    local function told(text) return c("EVAL", "return redis.error_reply(ARGV[1])", 0, text).error end
    is({told("oh"), told("-oh"), told("MY oh"), told("-MY oh"), told("-"), told("--oh")},
        {"ERR oh", "ERR oh", "MY oh", "MY oh", "ERR ", "ERR -oh"})
    fails(c("EVAL", "return redis.acl_check_cmd('get', {})", 0),
        "ERR Lua redis lib command arguments must be strings or integers")
end)

case("what goes wrong with a command is one line in scripts too", function(c)
    c("PFADD", "k", "a")
    is(c("EVAL", "return redis.pcall('pfdebug', 'a\\r\\nb', 'k').err", 0),
        "ERR Unknown PFDEBUG subcommand 'a  b'")
end)

check.run()
