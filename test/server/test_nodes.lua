-- Nodes over the protocol: CARET.GET and its kin.
local check = require "check"
local ffi = require "ffi"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails
local null = resp.null

ffi.cdef "int kill(int, int);"
local build = os.getenv "CARET_BUILD" or "../../build"

-- What the command `caret` prints with these words, on the server's database.
local function caret(...)
    local words = {}
    for i, word in ipairs {...} do words[i] = "'" .. word:gsub("'", "'\\''") .. "'" end
    local f = io.popen(("CARET_DB='%s/data.caret' '%s/caret' %s 2>&1"):format(
        os.getenv "SERVE_FOLDER", build, table.concat(words, " ")))
    local text = f:read "*a"
    f:close()
    return (text:gsub("\n$", ""))
end

local function empty(c)
    for _, name in ipairs {"^oaks", "^pines", "^j"} do c("CARET.KILL", name) end
    return c
end

local function a_case(name, f) case(name, function(c) f(empty(c)) end) end

a_case("a value is set, told, added to, deleted and killed", function(c)
    is(c("CARET.SET", "^oaks", 1, "shadow", 15), "OK")
    is(c("CARET.GET", "^oaks", 1, "shadow"), "15")
    is(c("CARET.INCR", "^oaks", 1, "shadow", "2.5"), "17.5")
    is(c("CARET.INCR", "^oaks", 1, "shadow", "100000000000000000000000000000.5"),
        "100000000000000000000000000018")
    is({c("CARET.DATA", "^oaks"), c("CARET.DATA", "^oaks", 1, "shadow"), c("CARET.DATA", "^pines")}, {10, 1,
        0})
    is({c("CARET.SET", "^oaks", "x"), c("CARET.DATA", "^oaks"), c("CARET.DEL", "^oaks"), c("CARET.DEL",
        "^oaks")},
        {"OK", 11, 1, 0})
    is({c("CARET.KILL", "^oaks"), c("CARET.KILL", "^oaks"), c("CARET.GET", "^oaks", 1, "shadow")}, {1, 0,
        null})
end)

a_case("a program sees them, and what it sets is seen", function(c)
    c("CARET.SET", "^oaks", "a b", "-.5", "\255\0x")
    is(caret("get", '^oaks("a b",-.5)'):gsub("%z", "0"), "\2550x")
    caret("set", "^oaks(7)", "seven")
    is(c("CARET.GET", "^oaks", 7), "seven")
end)

a_case("keys of Redis are nodes, too", function(c)
    c("HSET", "h", "f", 1)
    is(c("CARET.GET", "^redis", "h", "f"), "1")
    is(c("CARET.SET", "^redis", "plain", "x"), "OK")
    is(c("GET", "plain"), "x")
    for _, command in ipairs {{"CARET.SET", "^redisX", 1}, {"CARET.KILL", "^redisB"}, {"CARET.INCR",
        "^redisL", 1},
        {"CARET.LOCK", "^redisB", "o"}, {"CARET.TP", 3, "SET", "^redisF", 1}} do
        is(c(unpack(command)), {error = "ERR this global is the server's own"})
    end
    is(c("CARET.GET", "^redisX", 1), null)
end)

a_case("siblings, in the order of the database", function(c)
    for _, sub in ipairs {"b", 10, 9, "a", -1, ""} do c("CARET.SET", "^oaks", sub, 1) end
    local seen, sub = {}, ""
    while sub ~= null do
        sub = c("CARET.NEXT", "^oaks", sub)
        seen[#seen + 1] = sub
    end
    is(seen, {"-1", "9", "10", "a", "b", null})
    is({c("CARET.PREV", "^oaks", ""), c("CARET.PREV", "^oaks", "a"), c("CARET.PREV", "^oaks", -1)},
        {"b", "10", ""})
    c("CARET.SET", "^pines", 1)
    is({c("CARET.NEXT", "^oaks"), c("CARET.PREV", "^pines")}, {"^pines", "^oaks"})
    is(c("CARET.NEXT", "^"):sub(1, 1), "^")
end)

a_case("children, some at a time", function(c)
    for i = 1, 5 do c("CARET.SET", "^oaks", i, "v" .. i) end
    c("CARET.SET", "^oaks", "x", "below", 1)
    c("CARET.SET", "^oaks", "xy", 2)
    is(c("CARET.SCAN", "COUNT", 2, "^oaks"), {"1", "v1", "2", "v2"})
    is(c("CARET.SCAN", "AFTER", 2, "COUNT", 2, "^oaks"), {"3", "v3", "4", "v4"})
    is(c("CARET.SCAN", "AFTER", 5, "^oaks"), {"x", null, "xy", "2"})
    is(c("CARET.SCAN", "FROM", 2, "TO", 3, "^oaks"), {"2", "v2", "3", "v3"})
    is(c("CARET.SCAN", "FROM", 2, "TO", 4, "REVERSE", "^oaks"), {"4", "v4", "3", "v3", "2", "v2"})
    is(c("CARET.SCAN", "FROM", 2, "TO", 4, "AFTER", 3, "REVERSE", "^oaks"), {"2", "v2"})
    is(c("CARET.SCAN", "PREFIX", "x", "^oaks"), {"x", null, "xy", "2"})
    is(c("CARET.SCAN", "PREFIX", "x", "AFTER", "x", "^oaks"), {"xy", "2"})
    is({c("CARET.SCAN", "COUNT", 0, "^oaks"), c("CARET.SCAN", "^oaks", 1)}, {{}, {}})
    is(c("CARET.SCAN", "^oaks", "x"), {"below", "1"})
    fails(c("CARET.SCAN", "PREFIX", "x", "TO", 1, "^oaks"), "ERR syntax error")
    fails(c("CARET.SCAN", "SIDEWAYS", 1, "^oaks"), "ERR syntax error")
    fails(c("CARET.SCAN", "COUNT", "^oaks"), "ERR value is not an integer")
    c("HELLO", 3)
    is(c("CARET.SCAN", "COUNT", 1, "^oaks"), {map = {"1", "v1"}})
    c("HELLO", 2)
end)

a_case("a tree", function(c)
    c("CARET.SET", "^oaks", 0)
    c("CARET.SET", "^oaks", 1, "a", 2)
    c("CARET.SET", "^oaks", 1, "a", "b", 3)
    c("CARET.SET", "^oaks", 12, 4)
    is(c("CARET.TREE", "^oaks"), {{{}, "0"}, {{"1", "a"}, "2"}, {{"1", "a", "b"}, "3"}, {{"12"}, "4"}})
    is(c("CARET.TREE", "^oaks", 1), {{{"a"}, "2"}, {{"a", "b"}, "3"}})
    is(c("CARET.TREE", "^oaks", 1, "a"), {{{}, "2"}, {{"b"}, "3"}})
    is({c("CARET.TREE", "COUNT", 1, "^oaks", 1), c("CARET.TREE", "^pines")}, {{{{"a"}, "2"}}, {}})
end)

-- The same text as n:json() of the module says, for trees that n:setjson() made, and others.
a_case("JSON, as the Lua module writes it", function(c)
    local n = 0
    for line in (caret("run", "json_nodes.lua") .. "\n"):gmatch "(.-)\n" do
        local sub, json = line:match "^(%S+) (.*)$"
        is({sub, c("CARET.JSON", "^j", sub)}, {sub, json})
        n = n + 1
    end
    is(n > 40, true)
    is(c("CARET.JSON", "^pines"), null)
    c("CARET.SET", "^j", "bad", "__json", "other")
    fails(c("CARET.JSON", "^j", "bad"), "ERR a child __json is a mark")
end)

a_case("what can't be a node is refused", function(c)
    for _, command in ipairs {{"CARET.GET", "oaks"}, {"CARET.GET", ""}, {"CARET.SET", "oaks", 1},
        {"CARET.SET", "^oaks"},
        {"CARET.GET", "^"}, {"CARET.GET", "^1"}, {"CARET.LOCK", "oaks"}, {"CARET.TREE"}, {"CARET.PREV", "^"},
        {"CARET.GET", "^oaks", ("x"):rep(2000)}, {"CARET.INCR", "^oaks", "x"}} do
        fails(c(unpack(command)), "ERR ")
    end
    local deep = {"CARET.GET", "^oaks"}
    for i = 3, 40 do deep[i] = i end
    fails(c(unpack(deep)), "ERR MAXSUBS")
end)

a_case("in MULTI and in scripts they are a part of it", function(c)
    local other = check.connect()
    is({c("MULTI"), c("CARET.SET", "^oaks", 1, 1), c("SET", "k", 2), c("CARET.INCR", "^oaks", 1, 4)},
        {"OK", "QUEUED", "QUEUED", "QUEUED"})
    is(other("CARET.GET", "^oaks", 1), null)
    is(c("EXEC"), {"OK", "OK", "5"})
    is(other("CARET.GET", "^oaks", 1), "5")
    is(c("EVAL", "redis.call('CARET.SET', '^oaks', 2, 'x') return redis.call('CARET.TREE', '^oaks')", 0),
        {{{"1"}, "5"}, {{"2"}, "x"}})
    fails(c("EVAL", "return redis.call('CARET.LOCK', '^oaks')", 0), "ERR This Redis command is not allowed")
    fails(c("EVAL_RO", "return redis.call('CARET.SET', '^oaks', 1)", 0), "ERR Write commands are not allowed")
    is(c("MULTI"), "OK")
    fails(c("CARET.LOCK", "^oaks"), "ERR Command not allowed inside a transaction")
    fails(c("EXEC"), "EXECABORT")
    other:close()
end)

a_case("CARET.TP does all of its commands or none", function(c)
    is(c("CARET.TP", 4, "SET", "^oaks", 1, 10, 4, "caret.incr", "^oaks", 1, 5, 3, "Get", "^oaks", 1, 2,
        "DATA",
        "^oaks"), {"OK", "15", "15", 10})
    is(c("CARET.TP", 4, "IS", "^oaks", 1, 15, 4, "SET", "^oaks", 1, 16), {1, "OK"})
    is(c("CARET.TP", 4, "SET", "^oaks", 1, 17, 4, "IS", "^oaks", 1, 15), null)
    is(c("CARET.TP", 3, "NONE", "^oaks", 2, 4, "SET", "^oaks", 2, "new"), {1, "OK"})
    is(c("CARET.TP", 3, "NONE", "^oaks", 2, 4, "SET", "^oaks", 2, "newer"), null)
    fails(c("CARET.TP", 4, "SET", "^oaks", 1, 18, 4, "INCR", "^oaks", 1, "no number"), "ERR INVALID")
    is({c("CARET.GET", "^oaks", 1), c("CARET.GET", "^oaks", 2)}, {"16", "new"})
    for _, words in ipairs {{1, "GET"}, {2, "LPUSH", "x"}, {2, "LOCK", "^oaks"}, {9, "GET", "^oaks"}, {0,
        "GET"},
        {"x", "GET"}, {2, "TP", "^oaks"}, {2, "IS", "^oaks"}, {4, "SET", "^oaks", 1, 1, 1}} do
        local answer = c("CARET.TP", unpack(words))
        is(type(answer) == "table" and type(answer.error), "string")
    end
    is(c("CARET.GET", "^oaks", 1), "16")
    is({c("MULTI"), c("CARET.TP", 4, "IS", "^oaks", 1, 0, 3, "SET", "^oaks", 9), c("CARET.GET", "^oaks", 1),
        c("EXEC")}, {"OK", "QUEUED", "QUEUED", {null, "16"}})
end)

a_case("rights: a category, and patterns of names", function(c)
    c("ACL", "SETUSER", "ann", "reset", "on", "nopass", "+@caret", "~^oaks", "%R~^pines")
    local ann = check.connect()
    is(ann("AUTH", "ann", "x"), "OK")
    is({ann("CARET.SET", "^oaks", 1, 2), ann("CARET.GET", "^pines"), ann("CARET.SCAN", "COUNT", 1, "^pines")},
        {"OK", null, {}})
    for _, command in ipairs {{"CARET.SET", "^pines", 1, 2}, {"CARET.GET", "^redis", "k"}, {"CARET.KILL",
        "^pines"},
        {"CARET.LOCK", "^pines"}, {"CARET.LOCK", "WITHIN", 0, "^pines"}, {"CARET.SCAN", "AFTER", 1, "^redis"},
        {"CARET.TREE", "^redis"}, {"CARET.JSON", "^redis"}, {"CARET.TP", 2, "GET", "^redis"},
        {"CARET.TP", 2, "GET", "^oaks", 3, "SET", "^pines", 1}, {"CARET.TP", 3, "IS", "^redis", 1}, {"GET",
            "k"}} do
        fails(ann(unpack(command)), "NOPERM")
    end
    is(ann("CARET.TP", 2, "GET", "^pines", 4, "SET", "^oaks", 1, 3), {null, "OK"})
    c("ACL", "SETUSER", "ann", "-caret.kill")
    fails(ann("CARET.TP", 2, "KILL", "^oaks"), "NOPERM")
    is(#c("ACL", "CAT", "caret"), 14) -- but CARET.M
    c("ACL", "DELUSER", "ann")
end)

a_case("keys, and documents", function(c)
    is(c("COMMAND", "GETKEYS", "CARET.SET", "^oaks", 1, 2), {"^oaks"})
    is(c("COMMAND", "GETKEYS", "CARET.SCAN", "REVERSE", "COUNT", 1, "^oaks", "^x"), {"^oaks"})
    is(c("COMMAND", "GETKEYSANDFLAGS", "CARET.TP", 2, "GET", "^oaks", 3, "SET", "^pines", 1),
        {{"^oaks", {"RO", "access"}}, {"^pines", {"OW", "update"}}})
    local docs = c("COMMAND", "DOCS", "caret.get", "expire", "zrandmember", "setnx")
    is(docs[2][6], "caret")
    is(docs[2][10], {{"name", "name", "type", "key", "key_spec_index", 0},
        {"name", "sub", "type", "string", "flags", {"optional", "multiple"}}})
    local condition = docs[4][10][3]
    is({condition[2], condition[4], condition[6]}, {"condition", "oneof", "7.0.0"})
    is(condition[10][1], {"name", "nx", "type", "pure-token", "token", "NX"})
    is(docs[6][10][2], {"name", "options", "type", "block", "flags", {"optional"}, "arguments", {
        {"name", "count", "type", "integer"},
        {"name", "withscores", "type", "pure-token", "token", "WITHSCORES", "flags", {"optional"}}}})
    is(docs[8][9], "arguments")
end)

-- ----------------------------------------------------------------- locks

local function blocked(c, n)
    check.wait(function() return tonumber(c("INFO", "clients"):match "blocked_clients:(%d+)") == n end)
end

a_case("a lock is one of the engine, and belongs to its connection", function(c)
    local a = check.connect()
    is({a("CARET.LOCK", "^oaks", 1), a("CARET.LOCK", "WITHIN", 0, "^oaks", 1)}, {1, 2})
    is(caret("locks"):match '%^oaks%(1%)', "^oaks(1)")
    is({c("CARET.LOCK", "WITHIN", 0, "^oaks", 1), c("CARET.LOCK", "WITHIN", "0.02", "^oaks"),
        -- what is above, too
        c("CARET.LOCK", "WITHIN", 0, "^oaks", 2)}, {null, null, 1})
    is({c("CARET.UNLOCK", "^oaks", 1), c("CARET.UNLOCK", "^oaks", 2), c("CARET.UNLOCK")}, {0, 1, 0})
    is({a("CARET.UNLOCK", "^oaks", 1), c("CARET.LOCK", "WITHIN", 0, "^oaks", 1)}, {1, null})
    is({a("CARET.LOCK", "^pines"), a("CARET.UNLOCK")}, {1, 2})
    is({c("CARET.LOCK", "WITHIN", 0, "^oaks", 1), c("CARET.UNLOCK")}, {1, 1})
    for _, words in ipairs {{"WITHIN", -1}, {"WITHIN", "x"}, {"COUNT", 1}} do
        local answer = c("CARET.LOCK", words[1], words[2], "^oaks")
        is(type(answer.error), "string")
    end
    a:close()
end)

a_case("clients get it in the order in which they came, over all workers", function(c)
    local list = check.spread(6)
    c("CARET.LOCK", "^oaks")
    for i, one in ipairs(list) do
        one:write("CARET.LOCK", "WITHIN", 60, "^oaks")
        blocked(c, i)
    end
    is(c("CARET.UNLOCK", "^oaks"), 1)
    for i, one in ipairs(list) do
        is(one:read(), 1)
        for k = i + 1, #list do is(list[k]:ready(0), false) end
        if i % 2 == 1 then is(one("CARET.UNLOCK"), 1) else one:close() end -- the end of a connection, too
    end
    for _, one in ipairs(list) do one:close() end
end)

a_case("a wait ends: its time, CLIENT UNBLOCK, CLIENT KILL, its connection", function(c)
    local list = check.spread(5)
    c("CARET.LOCK", "^oaks")
    local ids = {}
    for i, one in ipairs(list) do
        ids[i] = one("CLIENT", "ID")
        one:write("CARET.LOCK", "WITHIN", i == 1 and "0.05" or 60, "^oaks")
        one:write("PING")
    end
    is({list[1]:read(), list[1]:read()}, {null, "PONG"})
    blocked(c, 4)
    is({c("CLIENT", "UNBLOCK", ids[2]), c("CLIENT", "UNBLOCK", ids[3], "ERROR"), c("CLIENT", "UNBLOCK",
        ids[1])},
        {1, 1, 0})
    is({list[2]:read(), list[2]:read()}, {null, "PONG"})
    is({list[3]:read(), list[3]:read()}, {{error = "UNBLOCKED client unblocked via CLIENT UNBLOCK"}, "PONG"})
    is(c("CLIENT", "KILL", "ID", ids[4]), 1)
    blocked(c, 1)
    is({c("CARET.UNLOCK"), list[5]:read(), list[5]:read()}, {1, 1, "PONG"})
    for _, one in ipairs(list) do one:close() end
end)

a_case("of clients that wait for each other the last is told, over all workers", function(c)
    local list = check.spread(4)
    local function lock(i, ...) is(list[i]("CARET.LOCK", ...), 1) end
    lock(1, "^oaks", 1, 5)
    lock(2, "^oaks", 2)
    lock(3, "^pines")
    lock(3, "^birches")
    list[1]:write("CARET.LOCK", "^oaks", 2, 7) -- below what the second has
    blocked(c, 1)
    list[2]:write("CARET.LOCK", "WITHIN", 60, "^pines")
    blocked(c, 2)
    list[4]:write("CARET.LOCK", "^pines") -- holds nothing, so it is in no ring
    blocked(c, 3)
    local answer = list[3]("CARET.LOCK", "WITHIN", 60, "^oaks", 1) -- above what the first has
    is(answer.error:match("^%S+"), "DEADLOCK")
    is(list[3]("CARET.LOCK", "WITHIN", 0, "^oaks", 1), null)
    is(list[3]("CARET.UNLOCK"), 2)
    is(list[2]:read(), 1) -- those who hold something go first
    is(list[2]("CARET.UNLOCK"), 2)
    is({list[1]:read(), list[4]:read()}, {1, 1})
    for _, one in ipairs(list) do one:close() end
end)

-- Two that begin to wait at one moment may not see each other then.
a_case("one of two that wait for each other at one moment is told", function()
    local a, b = unpack(check.spread(2))
    for _ = 1, 200 do
        is({a("CARET.LOCK", "^oaks"), b("CARET.LOCK", "^pines")}, {1, 1})
        a:write("CARET.LOCK", "^pines")
        b:write("CARET.LOCK", "^oaks")
        local told, other = a, b
        check.wait(function()
            if b:ready(0) then told, other = b, a end
            return told:ready(0)
        end)
        is(told:read().error:match("^%S+"), "DEADLOCK")
        is(other:ready(0), false)
        is(told("CARET.UNLOCK"), 1)
        is({other:read(), other("CARET.UNLOCK")}, {1, 2})
    end
    a:close()
    b:close()
end)

a_case("a worker that is killed lets go of what its clients held", function(c)
    local function worker(one) return one("INFO", "server"):match "worker:(%d+)" end
    local list = check.spread(4)
    local a, b, watcher = c, nil, nil
    for _, one in ipairs(list) do b = worker(one) ~= worker(a) and one or b end
    if not b then return end -- there is one worker
    for _, one in ipairs(list) do watcher = worker(one) == worker(b) and one ~= b and one or watcher end
    is(a("CARET.LOCK", "^oaks"), 1)
    b:write("CARET.LOCK", "WITHIN", 60, "^oaks")
    if watcher then blocked(watcher, 1) end
    ffi.C.kill(tonumber(caret("locks"):match "caret%-server%s+(%d+)[^\n]*%^oaks"), 9)
    is({b:read(), b("CARET.UNLOCK")}, {1, 1})
    for _, one in ipairs(list) do one:close() end
end)

check.run()
