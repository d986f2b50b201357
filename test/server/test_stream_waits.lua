-- Clients that wait for entries of streams: XREAD and XREADGROUP with BLOCK.
local check = require "check"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails

local function blocked(c) return tonumber(c("INFO", "clients"):match("blocked_clients:(%d+)")) end
local function until_blocked(c, n) check.wait(function() return blocked(c) == n end) end

local function words(text)
    local t = {}
    for word in text:gmatch("%S+") do t[#t + 1] = word end
    return unpack(t)
end

-- A connection that has sent a command which waits; it is the n-th.
local function waiting(c, n, text)
    local one = check.connect()
    one:send(resp.encode(words(text)))
    until_blocked(c, n)
    return one
end

local function group(c)
    c("XADD", "s", "1-1", "f", "v")
    c("XGROUP", "CREATE", "s", "g", "$")
end

case("each client that reads gets the entry, on whichever worker", function(c)
    local all = {}
    for i = 1, 8 do all[i] = waiting(c, i, "XREAD BLOCK 0 STREAMS other s $ $") end
    is(c("XADD", "s", "5-1", "f", "v"), "5-1")
    for i = 1, 8 do
        is(all[i]:read(), {{"s", {{"5-1", {"f", "v"}}}}})
        is(all[i]("PING"), "PONG")
        all[i]:close()
    end
    until_blocked(c, 0)
end)

case("$ is the last id when the wait began", function(c)
    group(c)
    local one = waiting(c, 1, "XREAD COUNT 2 BLOCK 0 STREAMS s nothing $ $")
    c("MULTI")
    for i = 1, 3 do c("XADD", "s", "2-" .. i, "f", i) end
    c("EXEC")
    is(one:read(), {{"s", {{"2-1", {"f", "1"}}, {"2-2", {"f", "2"}}}}})
    one:close()
    one = waiting(c, 1, "XREAD BLOCK 0 STREAMS t $")
    c("XADD", "t", "0-1", "f", "v")
    is(one:read(), {{"t", {{"0-1", {"f", "v"}}}}})
    one:close()
end)

case("a stream that was named twice is told once, from the first of its ids", function(c)
    group(c)
    c("XGROUP", "CREATE", "t", "g", "$", "MKSTREAM")
    local one = waiting(c, 1, "XREAD BLOCK 0 STREAMS s s 1-5 1-1")
    c("XADD", "s", "1-3", "f", "v")
    c("XADD", "s", "1-6", "f", "v")
    is(one:read(), {{"s", {{"1-6", {"f", "v"}}}}})
    one:close()
    one = waiting(c, 1, "XREADGROUP GROUP g c BLOCK 0 COUNT 1 STREAMS t t > >")
    c("MULTI")
    for i = 1, 2 do c("XADD", "t", "1-" .. i, "f", "v") end
    c("EXEC")
    is(one:read(), {{"t", {{"1-1", {"f", "v"}}}}})
    one:close()
end)

case("an id that nothing is after waits", function(c)
    group(c)
    local one = waiting(c, 1, "XREAD BLOCK 0 STREAMS s 7-7")
    c("XADD", "s", "7-7", "f", "v")
    c("SADD", "other", "x")
    c("DEL", "s")
    c("SET", "s", "x")
    c("DEL", "s")
    c("XADD", "s", "7-8", "f", "v")
    is(one:read(), {{"s", {{"7-8", {"f", "v"}}}}})
    one:close()
end)

case("consumers are served in the order in which they began to wait", function(c)
    group(c)
    local all = {}
    for i = 1, 6 do all[i] = waiting(c, i, "XREADGROUP GROUP g c" .. i .. " BLOCK 0 STREAMS s >") end
    for i = 1, 6 do
        c("XADD", "s", "2-" .. i, "f", i)
        is(all[i]:read(), {{"s", {{"2-" .. i, {"f", tostring(i)}}}}})
        all[i]:close()
    end
    is(c("XPENDING", "s", "g")[1], 6)
    is(c("XPENDING", "s", "g", "-", "+", 1, "c4")[1][1], "2-4")
    until_blocked(c, 0)
end)

case("clients of a group are told when stream or group are gone", function(c)
    local gone, no_group = "UNBLOCKED the stream key no longer exists",
        "NOGROUP the consumer group this client was blocked on no longer exists"
    for _, how in ipairs({{"DEL s", gone}, {"UNLINK s", gone}, {"SET s x", gone}, {"RENAME s t", gone},
        {"RENAME str s", gone}, {"FLUSHALL", gone}, {"FLUSHDB", gone}, {"PEXPIRE s 1", gone},
        {"MOVE s 3", gone}, {"XGROUP DESTROY s g", no_group}}) do
        c("FLUSHALL")
        c("SET", "str", "x")
        group(c)
        local one = waiting(c, 1, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
        c(words(how[1]))
        fails(one:read(), how[2])
        is(one("PING"), "PONG")
        one:close()
        until_blocked(c, 0)
    end
end)

case("what is deleted again within EXEC is not served", function(c)
    group(c)
    local one = waiting(c, 1, "XREADGROUP GROUP g c BLOCK 0 STREAMS s >")
    c("MULTI")
    c("XADD", "s", "2-1", "f", "v")
    c("XDEL", "s", "2-1")
    is(#c("EXEC"), 2)
    c("XADD", "s", "2-2", "f", "v")
    is(one:read()[1][2][1][1], "2-2")
    one:close()
end)

case("nobody waits in EXEC, nor for what is pending", function(c)
    group(c)
    c("MULTI")
    c(words("XREAD BLOCK 0 STREAMS s $"))
    c(words("XREADGROUP GROUP g c BLOCK 0 STREAMS s >"))
    is(c("EXEC"), {resp.null, resp.null})
    is(c(words("XREADGROUP GROUP g c BLOCK 0 STREAMS s 0")), {{"s", {}}})
    is(c(words("XREAD BLOCK 1 STREAMS s $")), resp.null)
    fails(c("EVAL", "return redis.call('XRead', 'block', '0', 'streams', 's', '0')", 0),
        "ERR XRead command is not allowed with BLOCK option from scripts")
    fails(c(words("XREAD BLOCK -1 STREAMS s $")), "ERR timeout is negative")
    fails(c(words("XREAD BLOCK 0.5 STREAMS s $")), "ERR timeout is not an integer or out of range")
end)

case("CLIENT UNBLOCK ends the wait", function(c)
    local one = check.connect()
    local id = one("CLIENT", "ID")
    for _, how in ipairs({"TIMEOUT", "ERROR"}) do
        one:send(resp.encode(words("XREAD BLOCK 0 STREAMS s $")))
        until_blocked(c, 1)
        is(c("CLIENT", "UNBLOCK", id, how), 1)
        if how == "ERROR" then fails(one:read(), "UNBLOCKED") else is(one:read(), resp.null) end
    end
    one:close()
end)

check.run()
