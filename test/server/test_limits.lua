-- Clients that take more than their share: too many of them, with requests that never end, that send a byte
-- at a time, or read nothing. They get an error or are cut, and nobody else notices.
local check = require "check"
local resp = require "resp"
local case, is, fails, encode = check.case, check.is, check.fails, resp.encode

local function clients_of(c) return tonumber(c("INFO", "clients"):match("connected_clients:(%d+)")) end

-- The number of clients is n again.
local function wait_clients(c, n)
    check.wait(function() return clients_of(c) == n end)
end

-- What a connection is answered that is not to be served: all until its end.
local function refused(one)
    while one:more() do end
    one:close()
    return one.input
end

local function ended(one)
    local fine = pcall(function() while one:more() do end end)
    one:close()
    return fine
end

case("maxclients: one more is told so, and others go on", function(c)
    local list = {}
    is(c("CONFIG", "SET", "maxclients", "12"), "OK")
    wait_clients(c, 1)
    for i = 1, 11 do
        list[i] = check.connect()
        is(list[i]("PING"), "PONG")
    end
    is(refused(check.connect()), "-ERR max number of clients reached\r\n")
    is(c("PING"), "PONG")
    list[11]:close()
    wait_clients(c, 11)
    list[11] = check.connect()
    is(list[11]("PING"), "PONG")
    for _, one in ipairs(list) do one:close() end
    is(c("CONFIG", "SET", "maxclients", "10000"), "OK")
end)

-- Of each worker: how many descriptors it may have.
local function limit_files(n)
    for _, pid in ipairs(check.workers()) do
        if os.execute(("prlimit --pid %d --nofile=%d: 2>/dev/null"):format(pid, n)) ~= 0 then
            return false
        end
    end
    return true
end

local function files_of(pid)
    local f = io.popen("ls /proc/" .. pid .. "/fd | wc -l")
    local n = f:read("*n")
    f:close()
    return n
end

case("no descriptor is left: a client is told so, and others go on", function(c)
    local most, list, told = 0, {}, 0
    for _, pid in ipairs(check.workers()) do most = math.max(most, files_of(pid)) end
    if not limit_files(most + 5) then return print("skipped: no prlimit") end
    for i = 1, 60 do
        list[i] = check.connect()
        list[i]:send("PING\r\n")
    end
    for _, one in ipairs(list) do
        local fine, answer = pcall(one.read, one)
        told = told + (fine and answer ~= "PONG" and 1 or 0)
        if fine and answer ~= "PONG" then fails(answer, "ERR max number of clients reached") end
        is(fine, true)
    end
    is(told > 0, true)
    is(c("PING"), "PONG")
    for _, one in ipairs(list) do one:close() end
    wait_clients(c, 1)
    local one = check.connect()
    is(one("PING"), "PONG")
    one:close()
    limit_files(10000)
end)

case("a request that is too large is cut, also in pieces, and so is a queue of MULTI", function(c)
    is(c("CONFIG", "SET", "client-query-buffer-limit", "1mb"), "OK")
    local piece = encode(("x"):rep(1000)):sub(5) -- without "*1\r\n"
    for _, begin in ipairs {"*1000000\r\n", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$8000000\r\n"} do
        local one = check.connect()
        one:send(begin)
        for _ = 1, 1500 do
            if not one:send(piece) then break end
        end
        is(ended(one), true)
        is(c("EXISTS", "k"), 0)
    end
    local one = check.connect()
    one:send(encode("MULTI"))
    for _ = 1, 1500 do
        if not one:send(encode("SET", "k", ("x"):rep(1000))) then break end
    end
    is(ended(one), true)
    is(c("EXISTS", "k"), 0)
    wait_clients(c, 1)
    is(c("CONFIG", "SET", "client-query-buffer-limit", "1gb"), "OK")
end)

case("a client that reads nothing is ended at the limit of its output", function(c)
    for _, of_words in ipairs {"client-output-buffer-limit", "save", "latency-tracking-info-percentiles"} do
        fails(c("CONFIG", "SET", of_words, " "), "ERR CONFIG SET failed (possibly related to")
    end
    is(c("CONFIG", "SET", "client-output-buffer-limit", "normal 2mb 0 0"), "OK")
    c("SET", "big", ("v"):rep(1000000))
    local one = check.connect()
    one:send(encode("MULTI"))
    for _ = 1, 20 do one:send(encode("GET", "big")) end
    one:send(encode("EXEC"))
    wait_clients(c, 1)
    one:close()
    is(c("GET", "big") == ("v"):rep(1000000), true)
    is(c("CONFIG", "SET", "client-output-buffer-limit", "normal 0 0 0"), "OK")
end)

case("many that send a byte at a time are served, and hold up nobody", function(c)
    local request, list = encode("INCR", "slow"), {}
    for i = 1, 150 do list[i] = check.connect() end
    for at = 1, #request do
        for _, one in ipairs(list) do one:send(request:sub(at, at)) end
        is(c("INCR", "fast"), at)
    end
    local seen = {}
    for _, one in ipairs(list) do
        seen[one:read()] = true
        one:close()
    end
    for i = 1, #list do is({i, seen[i]}, {i, true}) end
end)

case("timeout: half a request keeps no connection open", function(c)
    is(c("CONFIG", "SET", "timeout", "1"), "OK")
    local one = check.connect()
    one:send("*2\r\n$3\r\nGET\r\n$1")
    check.wait(function() return clients_of(c) == 1 end)
    is(ended(one), true)
    local other = check.connect() -- c may have been idle as long
    is(other("CONFIG", "SET", "timeout", "0"), "OK")
    other:close()
end)

local function memory_of(pid)
    local f = io.open("/proc/" .. pid .. "/smaps_rollup")
    if not f then return 0 end
    local n = f:read("*a"):match("Private_Dirty:%s*(%d+)")
    f:close()
    return n * 1024
end

local function memory()
    local sum = 0
    for _, pid in ipairs(check.workers()) do sum = sum + memory_of(pid) end
    return sum
end

case("an idle connection has at most 1 KiB", function(c)
    if memory() == 0 or os.getenv("CARET_BUILD") and os.getenv("CARET_BUILD"):find("san") then
        return print("skipped: memory is not that of a release")
    end
    local list, n = {}, 800
    for i = 1, 50 do list[i] = check.connect() end -- what a worker needs for many is there
    for _, one in ipairs(list) do is(one("SET", "a", ("x"):rep(5000)), "OK") end
    local before = memory()
    for i = 51, 50 + n do
        list[i] = check.connect()
        is(list[i]("SET", "a", ("x"):rep(5000)), "OK")
    end
    local each = (memory() - before) / n
    for _, one in ipairs(list) do one:close() end
    wait_clients(c, 1)
    if each > 1024 then error(("%d bytes of each"):format(each)) end
end)

-- A field of CLIENT LIST of clients by their name.
local function listed(c, name, field)
    local pattern = " " .. (field or "tot-mem"):gsub("%-", "%%-") .. "=(%d+)"
    local t = {}
    for line in c("CLIENT", "LIST"):gmatch("[^\n]+") do
        if line:find(" name=" .. name .. " ", 1, true) then
            t[#t + 1] = tonumber(line:match(pattern))
        end
    end
    return t
end

-- Clients in whose input buffers so many bytes wait.
local function hoarders(c, n, name, bytes)
    local list = {}
    for i = 1, n do
        list[i] = check.connect()
        list[i]("CLIENT", "SETNAME", name)
        list[i]:send("*1\r\n$" .. bytes .. "\r\n" .. ("v"):rep(bytes - 1))
    end
    check.wait(function()
        local t = listed(c, name)
        for _, taken in ipairs(t) do
            if taken < bytes then return false end
        end
        return #t == n
    end)
    return list
end

local function left(c, name, n) check.wait(function() return #listed(c, name) == n end) end

local function closed(list)
    for _, one in ipairs(list) do one:close() end
end

case("maxmemory-clients ends the largest, until the rest is below it", function(c)
    is(c("CLIENT", "NO-EVICT", "ON"), "OK")
    local small, large = hoarders(c, 3, "small", 100000), hoarders(c, 3, "large", 1000000)
    local before = tonumber(c("INFO", "stats"):match("evicted_clients:(%d+)"))
    for _, wrong in ipairs {"9223372036854775808", "101%", "-1", "%"} do
        fails(c("CONFIG", "SET", "maxmemory-clients", wrong), "ERR CONFIG SET failed")
    end
    is(c("CONFIG", "SET", "maxmemory-clients", "3000000"), "OK")
    left(c, "large", 2)
    left(c, "small", 3)
    is(c("CONFIG", "SET", "maxmemory-clients", "1000000"), "OK")
    left(c, "large", 0)
    left(c, "small", 3)
    is(c("INFO", "stats"):match("evicted_clients:(%d+)") - before, 3)
    closed(small)
    closed(large)
    local stays = check.connect()
    is(stays("CLIENT", "NO-EVICT", "ON"), "OK")
    is(stays("RESET"), "RESET") -- it does not change that
    stays("CLIENT", "SETNAME", "stays")
    stays:send("*1\r\n$2000000\r\n" .. ("v"):rep(1999999))
    check.wait(function() return (listed(c, "stays")[1] or 0) > 1999999 end)
    is(c("CONFIG", "SET", "maxmemory", "10mb", "maxmemory-clients", "5%"), "OK")
    left(c, "stays", 1)
    is(c("CONFIG", "SET", "maxmemory-clients", "0", "maxmemory", "0"), "OK")
    local watches = check.connect()
    stays:close()
    left(c, "stays", 0)
    is(c("CONFIG", "SET", "maxmemory-clients", "100000"), "OK")
    is(pcall(function()
        for i = 1, 100000 do assert(watches("WATCH", "key" .. i) == "OK") end
    end), false)
    is(c("CONFIG", "SET", "maxmemory-clients", "0"), "OK")
    watches:close()
end)

case("the least maxmemory-clients leaves a client that can set another", function()
    local one = check.connect()
    is(one("CONFIG", "SET", "maxmemory-clients", "1"), "OK")
    is(one("CONFIG", "GET", "maxmemory-clients"), {"maxmemory-clients", "1"})
    is(one("CONFIG", "SET", "maxmemory-clients", "0"), "OK")
    one:close()
end)

case("maxmemory-clients counts before the answer; a client takes what its argument does", function(c)
    is(c("CLIENT", "NO-EVICT", "ON"), "OK")
    local list, bytes = {}, 1000000
    for i = 1, 10 do
        list[i] = check.connect()
        list[i]("CLIENT", "SETNAME", "alike")
        list[i]:send("*1\r\n$" .. bytes .. "\r\n" .. ("v"):rep(i * 60000))
        check.wait(function() return (listed(c, "alike", "qbuf")[i] or 0) >= i * 60000 end)
        list[i]:send(("v"):rep(bytes - 1 - i * 60000))
        check.wait(function() return listed(c, "alike", "qbuf")[i] >= bytes - 1 end)
    end
    local taken = listed(c, "alike")
    table.sort(taken)
    is(taken[10] < taken[1] * 1.01, true)
    is(c("CONFIG", "SET", "maxmemory-clients", tostring(5 * taken[10] + 200000)), "OK")
    is(#listed(c, "alike"), 5)
    is(c("CONFIG", "SET", "maxmemory-clients", "0"), "OK")
    closed(list)
end)

case("maxmemory-clients counts an argument that is announced, and answers that nobody takes", function(c)
    is(c("CLIENT", "NO-EVICT", "ON"), "OK")
    c("SETRANGE", "k", 199999, "v")
    is(c("CONFIG", "SET", "maxmemory-clients", "3000000"), "OK")
    local one, other = check.connect(), check.connect()
    one:send("*1\r\n$4000000\r\n")
    is(one:more(), false)
    other("CLIENT", "SETNAME", "other")
    other:send(resp.encode("GET", "k"):rep(1000))
    left(c, "other", 0)
    is(c("CONFIG", "SET", "maxmemory-clients", "0"), "OK")
    closed {one, other}
end)

case("elements that may come again, more of them than memory has, are refused", function(c)
    local text = ("m"):rep(200000)
    c("SADD", "s", text)
    c("HSET", "h", text, "v")
    c("ZADD", "z", 1, text)
    for _, words in ipairs {
        {"SRANDMEMBER", "s", "-4611686018427387905"}, {"HRANDFIELD", "h", "-4611686018427387905"},
        {"ZRANDMEMBER", "z", "-4611686018427387905"},
        {"HRANDFIELD", "h", "-4611686018427387903", "WITHVALUES"},
    } do
        fails(c(unpack(words)), "ERR value is out of range")
    end
    local script = "return redis.call('srandmember', 's', '-4611686018427387905')"
    fails(c("EVAL", script, 0), "ERR value is out of range")
    is(#c("SRANDMEMBER", "s", -100), 100)
end)

check.run()
