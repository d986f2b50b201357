-- What a stranger may try: requests before a password, scripts that want too much, workers that are stopped,
-- large keys that go at once, a second server on the same file.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails
ffi.cdef "int kill(int, int);"
local SIGTERM, SIGSTOP, SIGCONT = 15, 19, 18

-- All that is answered to these bytes until the server closes.
local function answer(sent)
    local c = check.connect()
    c:send(sent)
    while c:more() do end
    local got = c.input
    c:close()
    return got
end

case("before a password: short requests, and as many wrong ones as one likes", function(c)
    c("CONFIG", "SET", "requirepass", "secret")
    is(answer("*11\r\n"), "-ERR Protocol error: unauthenticated multibulk length\r\n")
    is(answer("*1\r\n$16385\r\n"), "-ERR Protocol error: unauthenticated bulk length\r\n")
    local one = check.connect()
    fails(one("GET", ("k"):rep(16384)), "NOAUTH Authentication required.")
    fails(one("DEL", 1, 2, 3, 4, 5, 6, 7, 8, 9), "NOAUTH Authentication required.")
    local wrong = resp.encode("AUTH", ("x"):rep(200)):rep(500)
    for _ = 1, 20 do
        one:send(wrong)
        for _ = 1, 500 do fails(one:read(), "WRONGPASS") end
        is(c("PING"), "PONG")
    end
    is(#c("ACL", "LOG") >= 1, true)
    c("ACL", "LOG", "RESET")
    is(one("AUTH", "secret"), "OK")
    is(one("DEL", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), 0)
    c("CONFIG", "SET", "requirepass", "")
    one:close()
end)

case("scripts that want too much are told so, and the next is run", function(c)
    local wanting = {
        "local function f() return 1 + f() end return f()",
        "local function f(...) return f(1, ...) + 1 end return f()",
        "return redis.call('set', 'k', ('x'):rep(2^25))",
        "return unpack({}, 1, 1e8)",
        "local t = {} t[1] = t return cjson.encode(t)",
        "return cjson.decode(('['):rep(2000) .. (']'):rep(2000))",
        "local t = {} for i = 1, 100000 do t = {t} end return cmsgpack.pack(t) .. error('packed')",
        "return struct.pack('I' .. ('9'):rep(30), 1)",
        "return struct.unpack('c0', 'x')",
        "return ('x'):rep(200000):find(('.-'):rep(200000) .. 'y')",
        "return loadstring(string.dump(function() end))()",
        "setmetatable(_G, nil) x = 1",
        "getmetatable('').__index = nil return ('x'):upper() .. error('still there')",
        "redis.call = nil",
    }
    for _, script in ipairs(wanting) do
        local got = c("EVAL", script, 0)
        if type(got) ~= "table" or not got.error then error(script .. ": " .. tostring(got)) end
        is(c("EVAL", "return ('x'):upper() .. tostring(redis.call ~= nil)", 0), "Xtrue")
    end
    is(c("EVAL", "local t = {} for i = 1, 100000 do t = {t} end return t", 0) ~= nil, true)
    is(c("PING"), "PONG")
end)

case("a worker that is stopped keeps nobody else from reading and writing", function()
    local list = check.spread(8)
    local first, others = check.info(list[1], "worker"), {}
    for _, one in ipairs(list) do
        if check.info(one, "worker") ~= first then others[#others + 1] = one end
    end
    for round = 1, #others > 0 and 20 or 0 do
        list[1]("INCR", "n")
        ffi.C.kill(check.workers()[first + 1], SIGSTOP)
        local fine, why = pcall(function()
            for i, one in ipairs(others) do
                is(one("RPUSH", "l" .. round, i), i)
                is(one("EVAL", "return redis.call('incr', KEYS[1])", 1, "e" .. round), i)
            end
            list[1]:send(resp.encode("GET", "e" .. round))
        end)
        ffi.C.kill(check.workers()[first + 1], SIGCONT)
        is({fine, why}, {true})
        is(list[1]:read(), tostring(#others))
    end
    for _, one in ipairs(list) do one:close() end
end)

case("large keys go at once", function(c)
    local pairs_of_1000 = {}
    for from = 0, 99000, 1000 do
        for i = 1, 1000 do pairs_of_1000[2 * i - 1], pairs_of_1000[2 * i] = "field" .. from + i, "v" end
        is(c("HSET", "h", unpack(pairs_of_1000)), 1000)
    end
    is(c("HLEN", "h"), 100000)
    is(c("RENAME", "h", "h2"), "OK")
    is(c("DEL", "h2"), 1)
    is(c("EXISTS", "h", "h2"), 0)
    is(c("DEBUG", "POPULATE", 100000, "key", 10), "OK")
    is(c("DBSIZE"), 100000)
    is(c("FLUSHALL"), "OK")
    is(c("DBSIZE"), 0)
end)

-- ------------------------------------------------------------------------------- two servers on one file

case("a second server on the same file sees all of it, and its clients wait in the same lines", function(c)
    local pid, connect = check.server {file = "data.caret", options = "--workers 2"}
    local other = connect()
    c("SET", "n", "0")
    for i = 1, 200 do
        is((i % 2 == 0 and c or other)("INCR", "n"), i)
    end
    c:send(resp.encode("INCR", "n"):rep(500))
    other:send(resp.encode("INCR", "n"):rep(500))
    for _ = 1, 500 do
        c:read()
        other:read()
    end
    is(c("GET", "n"), "1200")
    for round = 1, 10 do
        local waits = check.connect()
        waits:send(resp.encode("BLPOP", "jobs" .. round, 0))
        is(other("RPUSH", "jobs" .. round, "job"), 1)
        is(waits:read(), {"jobs" .. round, "job"})
        is(other("EXISTS", "jobs" .. round), 0)
        waits:close()
    end
    is(other("WATCH", "n"), "OK")
    c("SET", "n", "x")
    other("MULTI")
    other("SET", "n", "y")
    is(other("EXEC"), resp.null)
    other:close()
    ffi.C.kill(pid, SIGTERM)
    check.wait(function() return ffi.C.kill(pid, 0) ~= 0 end)
    is(c("GET", "n"), "x")
end)

check.run()
