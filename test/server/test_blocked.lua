-- Clients that wait: BLPOP and its kin. What one connection can't show.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails
pcall(ffi.cdef, "int kill(int, int);")

-- How many clients wait, on all workers.
local function blocked(c) return tonumber(c("INFO", "clients"):match("blocked_clients:(%d+)")) end
local function until_blocked(c, n) check.wait(function() return blocked(c) == n end) end

-- A connection that has sent a command which waits.
local function waiting(c, n, ...)
    local one = check.connect()
    one:write(...)
    until_blocked(c, n)
    return one
end

case("BLPOP takes what is there, from the first key that has something", function(c)
    c("RPUSH", "b", "1", "2")
    c("RPUSH", "c", "3")
    is(c("BLPOP", "a", "b", "c", "0"), {"b", "1"})
    is(c("BRPOP", "a", "c", "b", "0"), {"c", "3"})
    is(c("EXISTS", "c"), 0)
end)

case("one that waits gets what comes, and the list stays empty", function(c)
    local one = waiting(c, 1, "BLPOP", "a", "b", "0")
    is(c("RPUSH", "b", "x"), 1)
    is(c("LLEN", "b"), 0)
    is(one:read(), {"b", "x"})
    until_blocked(c, 0)
    is(one("PING"), "PONG")
    one:close()
end)

case("the client that waits longest is served first, on whichever worker", function(c)
    local all = {}
    for i = 1, 12 do all[i] = waiting(c, i, i % 2 == 0 and "BLPOP" or "BRPOP", "a", "0") end
    for i = 1, 12 do
        c("RPUSH", "a", "e" .. i)
        is(all[i]:read(), {"a", "e" .. i})
        all[i]:close()
    end
    until_blocked(c, 0)
end)

case("one push serves many, in order; the rest stays", function(c)
    local all = {}
    for i = 1, 5 do all[i] = waiting(c, i, "BLPOP", "a", "0") end
    is(c("RPUSH", "a", "1", "2", "3", "4", "5", "6", "7"), 7)
    for i = 1, 5 do
        is(all[i]:read(), {"a", tostring(i)})
        all[i]:close()
    end
    is(c("LRANGE", "a", "0", "-1"), {"6", "7"})
    is(c("LRANGE", "a", "9223372036854775807", "-1"), {})
end)

case("LPUSH of several, then BLPOP: the last of them", function(c)
    local one = waiting(c, 1, "BLPOP", "a", "0")
    c("LPUSH", "a", "1", "2", "3")
    is(one:read(), {"a", "3"})
    is(c("LRANGE", "a", "0", "-1"), {"2", "1"})
    one:close()
end)

case("EXEC serves after its last command", function(c)
    local one = waiting(c, 1, "BLPOP", "a", "0")
    c("MULTI")
    c("RPUSH", "a", "1")
    c("DEL", "a")
    c("RPUSH", "a", "2")
    is(c("EXEC"), {1, 1, 1})
    is(one:read(), {"a", "2"})
    one:write("BLPOP", "a", "0")
    until_blocked(c, 1)
    c("MULTI")
    c("RPUSH", "a", "3")
    c("LPOP", "a")
    is(c("EXEC"), {1, "3"})
    is(blocked(c), 1)
    c("RPUSH", "a", "4")
    is(one:read(), {"a", "4"})
    one:close()
end)

case("of two keys, the one that became ready first", function(c)
    local one = waiting(c, 1, "BLPOP", "a", "b", "0")
    c("MULTI")
    c("RPUSH", "b", "1")
    c("RPUSH", "a", "2")
    c("EXEC")
    is(one:read(), {"b", "1"})
    is(c("LRANGE", "a", "0", "-1"), {"2"})
    one:close()
end)

case("another type wakes nobody; a rename and a copy do", function(c)
    local one = waiting(c, 1, "BLPOP", "a", "0")
    c("SET", "a", "x")
    is(blocked(c), 1)
    c("DEL", "a")
    c("RPUSH", "b", "1")
    c("RENAME", "b", "a")
    is(one:read(), {"a", "1"})
    one:write("BLPOP", "a", "0")
    until_blocked(c, 1)
    c("RPUSH", "b", "2")
    c("COPY", "b", "a")
    is(one:read(), {"a", "2"})
    one:close()
end)

case("a database of the same names is another", function(c)
    local one = waiting(c, 1, "BLPOP", "a", "0")
    c("SELECT", "1")
    c("RPUSH", "a", "1")
    is(blocked(c), 1)
    c("SWAPDB", "0", "1")
    is(one:read(), {"a", "1"})
    one:close()
end)

case("BLMOVE moves, and what it gives wakes the next", function(c)
    local a = waiting(c, 1, "BLMOVE", "x", "y", "LEFT", "RIGHT", "0")
    local b = waiting(c, 2, "BRPOPLPUSH", "y", "z", "0")
    local d = waiting(c, 3, "BLPOP", "z", "0")
    c("RPUSH", "x", "1")
    is(a:read(), "1")
    is(b:read(), "1")
    is(d:read(), {"z", "1"})
    is(c("DBSIZE"), 0)
    a:close() b:close() d:close()
end)

case("a list that goes round: BRPOPLPUSH to itself", function(c)
    local a = waiting(c, 1, "BRPOPLPUSH", "x", "x", "0")
    c("RPUSH", "x", "1")
    is(a:read(), "1")
    is(c("LRANGE", "x", "0", "-1"), {"1"})
    a:close()
end)

case("a target of another type is an error for one that waits, and the element stays", function(c)
    c("SET", "y", "text")
    local a = waiting(c, 1, "BLMOVE", "x", "y", "LEFT", "RIGHT", "0")
    c("RPUSH", "x", "1")
    fails(a:read(), "WRONGTYPE")
    is(c("LRANGE", "x", "0", "-1"), {"1"})
    a:close()
end)

case("BLMPOP takes several", function(c)
    local a = waiting(c, 1, "BLMPOP", "0", "2", "x", "y", "RIGHT", "COUNT", "2")
    c("RPUSH", "y", "1", "2", "3")
    is(a:read(), {"y", {"3", "2"}})
    is(c("LRANGE", "y", "0", "-1"), {"1"})
    a:close()
end)

case("waits end: null, also within EXEC and scripts at once", function(c)
    is(c("BLPOP", "a", "0.01"), resp.null)
    is(c("BLMOVE", "a", "b", "LEFT", "LEFT", "0.01"), resp.null)
    is(c("BLMPOP", "0.01", "1", "a", "LEFT"), resp.null)
    c("MULTI")
    c("BLPOP", "a", "0")
    c("BLMOVE", "a", "b", "LEFT", "LEFT", "0")
    is(c("EXEC"), {resp.null, resp.null})
    is(blocked(c), 0)
end)

case("waits of many lengths end in their order", function(c)
    local all, order = {}, {3, 1, 4, 2, 5}
    for i, n in ipairs(order) do
        all[n] = check.connect()
        all[n]:write("BLPOP", "a" .. i, tostring(n / 50))
    end
    for n = 1, 5 do is(all[n]:read(), resp.null) all[n]:close() end
    is(blocked(c), 0)
end)

case("a client that goes leaves the line", function(c)
    local a = waiting(c, 1, "BLPOP", "a", "0")
    local b = waiting(c, 2, "BLPOP", "a", "0")
    a:close()
    until_blocked(c, 1)
    c("RPUSH", "a", "1")
    is(b:read(), {"a", "1"})
    b:close()
end)

case("what was sent after a command that waits is run when it is over", function(c)
    local a = check.connect()
    a:send("BLPOP a 0\r\nSET k 1\r\nGET k\r\n")
    until_blocked(c, 1)
    is(c("EXISTS", "k"), 0)
    c("RPUSH", "a", "1")
    is(a:read(), {"a", "1"})
    is(a:read(), "OK")
    is(a:read(), "1")
    a:close()
end)

case("CLIENT UNBLOCK, of a client on any worker", function(c)
    for _ = 1, 4 do
        local a = check.connect()
        local id = tostring(a("CLIENT", "ID"))
        is(c("CLIENT", "UNBLOCK", id), 0)
        a:write("BLPOP", "a", "0")
        until_blocked(c, 1)
        is(c("CLIENT", "UNBLOCK", id), 1)
        is(a:read(), resp.null)
        a:write("BLMOVE", "a", "b", "LEFT", "LEFT", "0")
        until_blocked(c, 1)
        is(c("CLIENT", "UNBLOCK", id, "ERROR"), 1)
        fails(a:read(), "UNBLOCKED client unblocked via CLIENT UNBLOCK")
        is(c("CLIENT", "UNBLOCK", id), 0)
        a:close()
    end
    fails(c("CLIENT", "UNBLOCK", "1", "NOPE"), "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
end)

case("CLIENT UNBLOCK holds, whatever the next command of its pipeline answers", function(c)
    c("RPUSH", "list", "x")
    for _, after in ipairs({"INCR list", "GET list", "SET k v", "PING"}) do
        for _ = 1, 4 do
            local a = check.connect()
            local id = tostring(a("CLIENT", "ID"))
            a:write("BLPOP", "a", "0")
            until_blocked(c, 1)
            c:send(("CLIENT UNBLOCK %s\r\n%s\r\n"):format(id, after))
            is(c:read(), 1)
            c:read()
            is(a:read(), resp.null)
            a:close()
        end
    end
end)

case("what is pushed after CLIENT KILL is for others than the one killed", function(c)
    for _ = 1, 4 do
        local a = check.connect()
        local id = tostring(a("CLIENT", "ID"))
        a:write("BLPOP", "a", "0")
        until_blocked(c, 1)
        c:send(("CLIENT KILL ID %s\r\nRPUSH a x\r\nLPOP a\r\n"):format(id))
        is({c:read(), c:read(), c:read()}, {1, 1, "x"})
        a:close()
    end
end)

case("long names, and answers of some MiB", function(c)
    local name, big = ("n"):rep(1000), ("v"):rep(3 * 1024 * 1024)
    for _ = 1, 3 do
        local a = waiting(c, 1, "BLPOP", "a", name, "0")
        c("RPUSH", name, big)
        local got = a:read()
        is(got[1], name)
        is(got[2] == big, true)
        a:close()
    end
end)

case("a program that writes nodes is seen", function(c)
    c("RPUSH", "b", "x")
    local a = waiting(c, 1, "BLPOP", "a", "0")
    local folder = os.getenv("SERVE_FOLDER")
    local file = assert(io.open(folder .. "/copy.lua", "w"))
    file:write("db.node('^redis', 'b'):copy_to(db.node('^redis', 'a'))")
    file:close()
    local tool = (os.getenv("CARET_BUILD") or "../../build") .. "/caret"
    local run = ("%q run --db %q %q"):format(tool, folder .. "/data.caret", folder .. "/copy.lua")
    assert(os.execute(run) == 0)
    is(a:read(), {"a", "x"})
    a:close()
end)

case("a client that waits may have sent a large argument and more", function(c)
    local other = check.connect()
    for _, n in ipairs({30000, 70000, 200000}) do
        local set, blocks = resp.encode("SET", "k", ("B"):rep(n)), resp.encode("BLPOP", "none", "0")
        other:send(blocks .. set .. resp.encode("PING"):rep(9000) .. resp.encode("STRLEN", "k"))
        check.wait(function() return c("INFO", "clients"):find("blocked_clients:1", 1, true) end)
        c("RPUSH", "none", "x")
        is(other:read(), {"none", "x"})
        is(other:read(), "OK")
        for _ = 1, 9000 do is(other:read(), "PONG") end
        is(other:read(), n)
    end
    other:close()
end)

check.run()
