-- MULTI and WATCH: what a comparison with one connection does not show.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

-- What EXEC says after `change` by another connection, between WATCH of the key k and MULTI.
local function watched(c, prepare, change)
    local other = check.connect()
    c("FLUSHALL")
    local again = prepare(c)
    c("WATCH", "k")
    while again and again(c) do end
    change(other, c)
    c("MULTI")
    c("SET", "won", "1")
    local answer = c("EXEC")
    other:close()
    return answer ~= resp.null
end

local function nothing() end

-- A program that has the database open itself: the tool.
local tool = (os.getenv("CARET_BUILD") or "../../build") .. "/caret"
local function direct(...)
    local words = {("%q"):format(tool)}
    for _, word in ipairs({...}) do words[#words + 1] = "'" .. word .. "'" end
    words[#words + 1] = ("--db %q"):format(os.getenv("SERVE_FOLDER") .. "/data.caret")
    assert(os.execute(table.concat(words, " ")) == 0)
end
local function tree()
    direct("set", "^redis(\"k\",1)", "1")
    direct("set", "^redis(\"k\",2)", "2")
end
local function text(c) c("SET", "k", "1") end

-- A key that expires soon, but not before it was watched: then it is set and watched again, for longer.
local function expiring(c)
    local ms = 30
    c("SET", "k", "1", "PX", ms)
    return function()
        if c("EXISTS", "k") == 1 then return false end
        ms = 2 * ms
        c("UNWATCH")
        c("SET", "k", "1", "PX", ms)
        c("WATCH", "k")
        return true
    end
end

local cases = {
    {"nothing", text, nothing, true},
    {"nothing, without a key", nothing, nothing, true},
    {"a neighbour", text, function(o) o("SET", "k1", "x") o("SET", "j", "x") o("DEL", "k1") end, true},
    {"a longer name", text, function(o) o("SET", "kk", "x") end, true},
    {"another database", text, function(o) o("SELECT", "1") o("SET", "k", "x") end, true},
    {"a set", text, function(o) o("SET", "k", "2") end, false},
    {"a set of the same", text, function(o) o("SET", "k", "1") end, false},
    {"there and back", text, function(o) o("SET", "k", "2") o("SET", "k", "1") end, false},
    {"an own set", text, function(_, c) c("SET", "k", "2") end, false},
    {"a new key", nothing, function(o) o("SET", "k", "2") end, false},
    {"a new key that is gone again", nothing, function(o) o("SET", "k", "2") o("DEL", "k") end, false},
    {"a delete", text, function(o) o("DEL", "k") end, false},
    {"a delete of nothing", nothing, function(o) o("DEL", "k") end, true},
    {"a flush", text, function(o) o("FLUSHALL") end, false},
    {"a flush of others", nothing, function(o) o("SET", "j", "1") o("FLUSHALL") end, true},
    {"a rename from", text, function(o) o("RENAME", "k", "j") end, false},
    {"a rename to", text, function(o) o("SET", "j", "1") o("RENAME", "j", "k") end, false},
    {"an expiry", text, function(o) o("EXPIRE", "k", "100") end, false},
    {"no change of an expiry", text, function(o) o("PERSIST", "k") end, true},
    {"it expires", expiring, function(o) check.wait(function() return o("EXISTS", "k") == 0 end) end, false},
    {"a look", text, function(o) o("GET", "k") o("STRLEN", "k") o("TTL", "k") end, true},
    {"UNWATCH", text, function(o, c) o("SET", "k", "2") c("UNWATCH") end, true},
    {"a DISCARD", text, function(o, c) o("SET", "k", "2") c("MULTI") c("DISCARD") end, true},
    {"a transaction", text, function(o) o("MULTI") o("INCR", "k") o("EXEC") end, false},
    {"a set by a program", text, function() direct("set", "^redis(\"k\")", "2") end, false},
    {"a set by a program elsewhere", text, function() direct("set", "^other(\"k\")", "2") end, true},
    {"nothing, with nodes below it", tree, nothing, true},
    {"a node below it", tree, function() direct("set", "^redis(\"k\",2)", "3") end, false},
    {"a new node below it", tree, function() direct("set", "^redis(\"k\",3)", "3") end, false},
    {"a new node below no key", nothing, function() direct("set", "^redis(\"k\",3)", "3") end, false},
    {"a kill below it", tree, function() direct("kill", "^redis(\"k\",1)") end, false},
    {"a kill of all", tree, function() direct("kill", "^redis") end, false},
    {"a node beside it", tree, function() direct("set", "^redis(\"l\",1)", "1") end, true},
    {"many others", text, function(o) for i = 1, 300 do o("SET", "n" .. i, "x") end end, true},
}

for _, one in ipairs(cases) do
    case("WATCH and " .. one[1], function(c) is(watched(c, one[2], one[3]), one[4]) end)
end

case("a long name is watched", function(c)
    local name, other = ("n"):rep(1000), check.connect()
    for _, changed in ipairs({false, true}) do
        c("SET", name, "1")
        c("WATCH", name)
        if changed then other("SET", name, "1") end
        c("MULTI")
        is(c("EXEC") == resp.null, changed)
    end
    other:close()
end)

case("WATCH of a stream is about its entries, and not what groups do with them", function(c)
    local other = check.connect()
    c("XADD", "s", "1-1", "a", "b")
    c("XADD", "s", "1-2", "a", "b")
    c("XGROUP", "CREATE", "s", "g", "0")
    local function exec_after(...)
        c("WATCH", "s")
        other(...)
        c("MULTI")
        c("PING")
        return c("EXEC")
    end
    is(exec_after("XREADGROUP", "GROUP", "g", "one", "STREAMS", "s", ">"), {"PONG"})
    is(exec_after("XCLAIM", "s", "g", "two", "0", "1-1"), {"PONG"})
    is(exec_after("XACK", "s", "g", "1-1"), {"PONG"})
    is(exec_after("XGROUP", "DELCONSUMER", "s", "g", "one"), {"PONG"})
    is(exec_after("XADD", "s", "1-3", "a", "b"), resp.null)
    is(exec_after("XDEL", "s", "1-1"), resp.null)
    is(exec_after("DEL", "s"), resp.null)
    other:close()
end)

case("nobody sees half of a transaction", function(c)
    local writers, n = check.spread(4), 400
    c("MSET", "a", "0", "b", "0")
    local reader = check.connect()
    for _ = 1, n do
        for _, w in ipairs(writers) do w:send("MULTI\r\nINCR a\r\nINCR b\r\nEXEC\r\n") end
        local v = reader("MGET", "a", "b")
        is(v[1], v[2])
        for _, w in ipairs(writers) do
            for _ = 1, 4 do w:read() end
        end
    end
    is(c("MGET", "a", "b"), {tostring(4 * n), tostring(4 * n)})
end)

case("counting with WATCH loses nothing", function(c)
    local clients, won = check.spread(6), 0
    c("SET", "n", "0")
    for _ = 1, 60 do
        for _, one in ipairs(clients) do one:send("WATCH n\r\nGET n\r\n") end
        for i, one in ipairs(clients) do
            one:read()
            local n = tonumber(one:read())
            local others = ("SET m%d 1\r\n"):format(i):rep(400) -- so that they meet
            one:send(("MULTI\r\n%sSET n %d\r\nEXEC\r\n"):format(others, n + 1))
        end
        for _, one in ipairs(clients) do
            for _ = 1, 402 do one:read() end
            if one:read() ~= resp.null then won = won + 1 end
        end
    end
    is(c("GET", "n"), tostring(won))
    is(won >= 60, true)
end)

case("a connection that ends in MULTI leaves nothing", function(c)
    local other = check.connect()
    other("MULTI")
    other("SET", "a", "1")
    other:close()
    is(c("GET", "a"), resp.null)
end)

case("what may not be in a transaction spoils it", function(c)
    for _, command in ipairs({"SAVE", "SHUTDOWN"}) do
        c("MULTI")
        check.fails(c(command), "ERR Command not allowed inside a transaction")
        is(c("DISCARD"), "OK")
    end
    c("MULTI")
    c("SAVE")
    check.fails(c("EXEC"), "EXECABORT Transaction discarded because of previous errors.")
end)

case("RESET ends MULTI and WATCH", function(c)
    c("SET", "k", "1")
    c("WATCH", "k")
    c("SET", "k", "2")
    c("MULTI")
    c("SET", "a", "1")
    is(c("RESET"), "RESET")
    check.fails(c("EXEC"), "ERR EXEC without MULTI")
    c("MULTI")
    is(c("EXEC"), {})
end)

check.run()
