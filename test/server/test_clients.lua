-- CLIENT over all workers: list, kill, pause.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails

ffi.cdef "int kill(int, int);"
local SIGSTOP, SIGCONT = 19, 18

local function field(line, name) return line:match("%f[%w-]" .. name .. "=(%S*)") end

-- The line of a client; nil: it is not there.
local function line_of(c, id)
    for line in c("CLIENT", "LIST"):gmatch("[^\n]+") do
        if field(line, "id") == tostring(id) then return line end
    end
end

local function closed(clients)
    for _, one in ipairs(clients) do one:close() end
end

local function gone(one) return not pcall(one, "PING") end

case("CLIENT LIST tells of the clients of all workers", function(c)
    local list, ids = check.spread(4), {}
    for i, one in ipairs(list) do
        ids[i] = one("CLIENT", "ID")
        one("CLIENT", "SETNAME", "name" .. i)
        one("SELECT", i)
    end
    list[1]("SUBSCRIBE", "a", "b")
    list[1]:read()
    list[2]("MULTI")
    list[2]("PING")
    for i = 1, 4 do
        local line
        check.wait(function()
            line = line_of(c, ids[i])
            return line and field(line, "db") == tostring(i)
        end)
        is(field(line, "name"), "name" .. i)
        is(field(line, "user"), "default")
        is(field(line, "redir"), "-1")
        is(field(line, "laddr"), os.getenv("SERVE_SOCKET") .. ":0")
    end
    check.wait(function() return field(line_of(c, ids[1]), "sub") == "2" end)
    is(field(line_of(c, ids[1]), "flags"), "PU")
    is(field(line_of(c, ids[1]), "cmd"), "subscribe")
    check.wait(function() return field(line_of(c, ids[2]), "multi") == "1" end)
    is(field(list[3]("CLIENT", "INFO"), "cmd"), "client|info")
    local named = {}
    for id in c("CLIENT", "LIST", "ID", ids[4], 999999, ids[2], ids[4]):gmatch("id=(%d+)") do
        named[#named + 1] = tonumber(id)
    end
    is(named, {ids[4], ids[2], ids[4]})
    local text = c("CLIENT", "LIST", "ID", ids[3], ids[4])
    is({text:match("id=(%d+).*\nid=(%d+)")}, {tostring(ids[3]), tostring(ids[4])})
    is(c("CLIENT", "LIST", "TYPE", "pubsub"):match("id=(%d+)"), tostring(ids[1]))
    closed(list)
    check.wait(function() return not line_of(c, ids[1]) end)
end)

case("a worker that is stopped, perhaps as it writes of a client, hides none", function()
    local list, worker, other = check.spread(16), {}, nil
    for i, one in ipairs(list) do
        worker[i] = check.info(one, "worker")
        other = worker[i] ~= worker[1] and one or other
    end
    local pid = check.workers()[worker[1] + 1]
    for _ = 1, other and 100 or 0 do -- with one worker there is no other
        list[1]:send(resp.encode("CLIENT", "LIST", "ID", "1"):rep(300)) -- it writes of all that it has
        local soon = os.clock() + math.random() * 0.002
        while os.clock() < soon do end -- so that it is somewhere in these, perhaps
        ffi.C.kill(pid, SIGSTOP)
        local fine, n = pcall(function() return select(2, other("CLIENT", "LIST"):gsub("\n", "")) end)
        ffi.C.kill(pid, SIGCONT)
        is({fine, n}, {true, 17})
        for _ = 1, 300 do list[1]:read() end
    end
    closed(list)
end)

case("what a client was answered, every worker knows", function()
    local list = check.spread(4)
    for i = 1, 200 do
        local one = list[i % 4 + 1]
        local id = one("CLIENT", "ID")
        one("CLIENT", "SETNAME", "name" .. i)
        is(field(line_of(list[(i + 1) % 4 + 1], id), "name"), "name" .. i)
        one("SELECT", i % 8)
        is(field(line_of(list[(i + 2) % 4 + 1], id), "db"), tostring(i % 8))
    end
    closed(list)
end)

case("cmd is what came last, whether it was run or not", function(c)
    local one = check.connect()
    local id = one("CLIENT", "ID")
    for _, t in ipairs{{"get", "GET", "a"}, {"NULL", "NOSUCH"}, {"set", "SET", "a"},
        {"NULL", "CLIENT", "NOSUCH"}, {"hset", "HSET", "a", "b", "c"}} do
        one(unpack(t, 2))
        check.wait(function() return field(line_of(c, id), "cmd") == t[1] end)
    end
    one:close()
end)

case("CLIENT KILL ends clients of all workers", function(c)
    local list, ids = check.spread(4), {}
    for i, one in ipairs(list) do ids[i] = one("CLIENT", "ID") end
    is(c("CLIENT", "KILL", "ID", ids[1]), 1)
    is(line_of(c, ids[1]), nil)
    is(gone(list[1]), true)
    is(c("CLIENT", "KILL", "ID", ids[1]), 0)
    list[2]("SUBSCRIBE", "a")
    check.wait(function() return c("CLIENT", "KILL", "TYPE", "pubsub") == 1 end)
    is(gone(list[2]), true)
    is(c("CLIENT", "KILL", "ADDR", os.getenv("SERVE_SOCKET") .. ":0", "ID", ids[3]), 1)
    is(gone(list[3]), true)
    is(c("CLIENT", "KILL", "USER", "default", "SKIPME", "yes"), 1)
    is(gone(list[4]), true)
    fails(c("CLIENT", "KILL", "1.2.3.4:5"), "ERR No such client")
    local me = check.connect()
    is(me("CLIENT", "KILL", "ID", me("CLIENT", "ID"), "SKIPME", "no"), 1)
    is(gone(me), true)
    closed(list)
    me:close()
end)

case("CLIENT KILL answers when the client is ended, and not before", function(c)
    local list = check.spread(4)
    for _, one in ipairs(list) do
        local id = one("CLIENT", "ID")
        one:send("DEBUG SLEEP 0.05\r\nINCR n\r\n")
        local soon = os.clock() + 0.01
        while os.clock() < soon do end -- it sleeps, mostly
        c:send(resp.encode("CLIENT", "KILL", "ID", id) .. "GET n\r\n")
        is(c:read(), 1)
        is(one:ready(0), true) -- its end is there
        is(c:read(), c("GET", "n"))
    end
    closed(list)
end)

case("clients that end each other do not wait for each other", function(c)
    for _ = 1, 20 do
        local list, ids = {check.connect(), check.connect()}, {}
        for i, one in ipairs(list) do ids[i] = one("CLIENT", "ID") end
        for i, one in ipairs(list) do one:send(resp.encode("CLIENT", "KILL", "ID", ids[3 - i])) end
        check.wait(function() return not line_of(c, ids[1]) or not line_of(c, ids[2]) end)
        is(c("PING"), "PONG")
        closed(list)
    end
end)

case("CLIENT PAUSE stops all workers, and commands run when it ends", function(c)
    local list = check.spread(4)
    is(c("CLIENT", "PAUSE", "100000", "WRITE"), "OK")
    for _, one in ipairs(list) do
        is(one("GET", "n"), resp.null)
        one:send("GET m\r\n")
        is(one:read(), resp.null)
        one:send(resp.encode("INCR", "n") .. resp.encode("INCR", "n"))
    end
    check.wait(function() return c("INFO", "clients"):match("blocked_clients:(%d+)") == "4" end)
    is(c("GET", "n"), resp.null)
    is(c("CLIENT", "UNPAUSE"), "OK")
    for _, one in ipairs(list) do
        one:read()
        one:read()
    end
    is(c("GET", "n"), "8")
    is(c("INFO", "clients"):match("blocked_clients:(%d+)"), "0")
    is(c("CLIENT", "PAUSE", "30", "ALL"), "OK")
    for _, one in ipairs(list) do one:send("INCR n\r\n") end
    is(c("PING"), "PONG")
    for _, one in ipairs(list) do one:read() end
    is(c("GET", "n"), "12")
    closed(list)
end)

case("a line with quotes that was paused says the same later", function(c)
    c("CLIENT", "PAUSE", "100000", "WRITE")
    local other = check.connect()
    other:send("\r\nSET \"a b\" 'it\\'s \\x' \r\nGET \"a\\x20b\"\r\n")
    check.wait(function() return c("INFO", "clients"):match("blocked_clients:(%d+)") == "1" end)
    c("CLIENT", "UNPAUSE")
    is(other:read(), "OK")
    is(other:read(), "it's \\x")
    other:close()
end)

case("CLIENT REPLY keeps answers back, and nothing that was subscribed to", function(c)
    for _, how in ipairs{"OFF", "SKIP"} do
        local one = check.connect()
        one:write("CLIENT", "REPLY", how)
        is(one("SUBSCRIBE", "a", "b"), {"subscribe", "a", 1})
        is(one:read(), {"subscribe", "b", 2})
        is(c("PUBLISH", "a", "x"), 1)
        is(one:read(), {"message", "a", "x"})
        is(one("UNSUBSCRIBE", "a"), {"unsubscribe", "a", 1})
        one:close()
    end
    local one = check.connect()
    one("HELLO", "3")
    one:write("CLIENT", "REPLY", "OFF")
    is(one("SUBSCRIBE", "a"), {push = {"subscribe", "a", 1}})
    is(one("PUBLISH", "a", "x"), {push = {"message", "a", "x"}})
    one:write("GET", "nothing")
    is(one("CLIENT", "REPLY", "ON"), "OK")
    one:close()
end)

case("CLIENT REPLY holds for each command of EXEC apart", function(c)
    local function told(...) -- what is sent for these lines
        local one = check.connect()
        one:send(table.concat({...}, "\r\n") .. "\r\nCLIENT REPLY ON\r\nECHO end\r\n")
        local t = {}
        repeat t[#t + 1] = one:frame() until t[#t]:find("end", 1, true)
        one:close()
        return (table.concat(t):gsub("\r\n", " "))
    end
    c("SET", "a", 1)
    is(told("CLIENT REPLY OFF", "MULTI", "SUBSCRIBE x", "GET a", "EXEC", "RESET"),
        "*3 $9 subscribe $1 x :1 +RESET +OK $3 end ")
    is(told("MULTI", "GET a", "CLIENT REPLY OFF", "GET a", "EXEC", "GET a"),
        "+OK +QUEUED +QUEUED +QUEUED *3 $1 1 +OK $3 end ")
    is(told("CLIENT REPLY OFF", "MULTI", "GET a", "CLIENT REPLY ON", "GET a", "EXEC"), "+OK $1 1 +OK $3 end ")
end)

case("a client that ends itself in EXEC gets no answer after that", function(c)
    local one = check.connect()
    one("MULTI")
    one("CLIENT", "KILL", "ID", one("PING") and c("PING") and tostring(1e9), "SKIPME", "no")
    one("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no", "ADDR", "none")
    one("SET", "a", "1")
    is(#one("EXEC"), 4)
    local id = one("CLIENT", "ID")
    one("MULTI")
    one("CLIENT", "KILL", "ID", id, "SKIPME", "no")
    one("SET", "a", "2")
    one:write("EXEC")
    is(pcall(one.read, one), false)
    is(one.input, "*2\r\n:1\r\n")
    is(c("GET", "a"), "2")
    one:close()
end)

case("CLIENT PAUSE and its arguments", function(c)
    fails(c("CLIENT", "PAUSE", "abc"), "ERR timeout is not an integer or out of range")
    fails(c("CLIENT", "PAUSE", "-1"), "ERR timeout is negative")
    fails(c("CLIENT", "PAUSE", "1", "x"), "ERR CLIENT PAUSE mode must be WRITE or ALL")
    c("CLIENT", "PAUSE", "100000", "WRITE")
    local other = check.connect()
    other:send("SET a 1\r\n")
    check.wait(function() return c("INFO", "clients"):match("blocked_clients:(%d+)") == "1" end)
    other:close()
    check.wait(function() return c("INFO", "clients"):match("blocked_clients:(%d+)") == "0" end)
    c("CLIENT", "UNPAUSE")
    is(c("SET", "b", "1"), "OK")
end)

-- More of them than answers wait for each other; two are ended meanwhile, by another and by themselves.
case("many clients that are served in one turn", function(c)
    local list = {}
    for i = 1, 40 do
        list[i] = check.connect()
        list[i]("SET", "k" .. i, i)
    end
    local ended = list[20]("CLIENT", "ID")
    c:send("DEBUG SLEEP 0.05\r\n")
    for i, one in ipairs(list) do
        local more = i == 15 and "CLIENT KILL ID " .. ended or i == 25 and "QUIT" or "PING"
        one:send(("INCR k%d\r\nGET k%d\r\n%s\r\n"):format(i, i, more))
    end
    is(c:read(), "OK")
    for i, one in ipairs(list) do
        if i ~= 20 then
            is(one:read(), i + 1)
            is(one:read(), tostring(i + 1))
            is(one:read(), i == 15 and 1 or i == 25 and "OK" or "PONG")
        end
    end
    is(pcall(function() for _ = 1, 4 do list[20]:read() end end), false)
    is(pcall(list[25].read, list[25]), false)
    for i, one in ipairs(list) do
        if i ~= 20 and i ~= 25 then is(one("INCR", "k" .. i), i + 2) end
        one:close()
    end
end)

check.run()
