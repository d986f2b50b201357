-- Requests as bytes: arrays, inline commands, what is wrong with them, pieces of them.
local check = require "check"
local case, is, resp = check.case, check.is, require "resp"

-- Everything that is answered until the server closes, or `bytes` of it have come.
local function answer(bytes, sent)
    local c = check.connect()
    c:send(sent)
    while #c.input < #bytes and c:more() do end
    local got = c.input
    c:close()
    return got
end

local errors = {
    ["*abc\r\n"] = "invalid multibulk length",
    ["*2147483648\r\n"] = "invalid multibulk length",
    ["*-9223372036854775809\r\n"] = "invalid multibulk length",
    ["*9223372036854775808\r\n"] = "invalid multibulk length",
    ["*1\r\nPING\r\n"] = "expected '$', got 'P'",
    ["*1\r\n$-7\r\n"] = "invalid bulk length",
    ["*1\r\n$x\r\n"] = "invalid bulk length",
    ["*1\r\n$536870913\r\n"] = "invalid bulk length",
    ["set a \"b\r\n"] = "unbalanced quotes in request",
    ["set a 'b'c\r\n"] = "unbalanced quotes in request",
    [("x"):rep(70000)] = "too big inline request",
    ["*" .. ("1"):rep(70000)] = "too big mbulk count string",
    ["*1\r\n$" .. ("1"):rep(70000)] = "too big bulk count string",
}

case("what is wrong is answered, and the connection closed", function()
    for sent, wanted in pairs(errors) do
        local bytes = "-ERR Protocol error: " .. wanted .. "\r\n"
        is(answer(bytes .. "more", sent), bytes)
    end
end)

case("what is right before it is answered first", function()
    is(answer("+PONG\r\n-ERR Protocol error: invalid bulk length\r\n ", "*1\r\n$4\r\nPING\r\n*1\r\n$-1\r\n"),
        "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n")
end)

local stream = "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n*0\r\n\r\nGET key\r\n*-1\r\n" ..
    "*-9223372036854775808\r\n" ..
    "*2\r\n$3\r\nget\r\n$3\r\nkey\r\nECHO \"\\n\\\"\"\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\nget key\n" ..
    "nope 'a b' c\r\n*1\r\n$4\r\nPING\r\n"
local wanted = "+OK\r\n$5\r\nvalue\r\n$5\r\nvalue\r\n$2\r\n\n\"\r\n$0\r\n\r\n$5\r\nvalue\r\n" ..
    "-ERR unknown command 'nope', with args beginning with: 'a b' 'c' \r\n+PONG\r\n"

case("a request may come in two pieces, cut anywhere", function()
    is(answer(wanted, stream), wanted)
    for cut = 1, #stream - 1 do
        local c = check.connect()
        c:send(stream:sub(1, cut))
        local other = check.connect() -- a turn for somebody else, so that the pieces are read apart
        is(other("PING"), "PONG")
        other:close()
        c:send(stream:sub(cut + 1))
        while #c.input < #wanted and c:more() do end
        is(c.input, wanted)
        c:close()
    end
end)

case("what is announced takes no memory before it comes", function()
    local list = {}
    for i = 1, 50 do
        list[i] = check.connect()
        list[i]:send("*1048576\r\n$16000000\r\n")
    end
    is(check.connect()("PING"), "PONG")
    for _, c in ipairs(list) do c:close() end
end)

case("a large value comes and goes", function(c)
    local value = ("0123456789abcdef"):rep(60000)
    is(c("SET", "big", value), "OK")
    is(c("STRLEN", "big"), #value)
    is(c("GET", "big") == value, true)
end)

case("a client that takes no answers gets no more of them, then all", function(c)
    local value = ("v"):rep(1000000)
    c("SET", "big", value)
    local function memory() return tonumber(c("INFO", "memory"):match("used_memory_rss:(%d+)")) end
    local before, slow = memory(), check.connect()
    local n = 200
    slow:send(resp.encode("GET", "big"):rep(n) .. resp.encode("PING"))
    for _ = 1, 50 do is(c("PING"), "PONG") end
    is(memory() - before < 150000000, true)
    for _ = 1, n do is(slow:read() == value, true) end
    is(slow:read(), "PONG")
end)

case("a page that posts here is cut off", function()
    for _, line in ipairs{"POST / HTTP/1.1\r\n", "Host: x\r\n",
        "*1\r\n$4\r\npost\r\n", "*2\r\n$5\r\nHOST:\r\n$1\r\nx\r\n"} do
        local c = check.connect()
        c:send(line .. "SET a 1\r\n")
        is(pcall(c.read, c), false)
        c:close()
    end
    is(check.connect()("EXISTS", "a"), 0)
end)

case("a long pipeline is answered in order", function(c)
    local t = {}
    for i = 1, 5000 do t[i] = resp.encode(i % 3 == 0 and "GET" or "INCR", "n") end
    c:send(table.concat(t))
    local n = 0
    for i = 1, 5000 do
        if i % 3 == 0 then
            is(c:read(), tostring(n))
        else
            n = n + 1
            is(c:read(), n)
        end
    end
end)

case("what is the same again is answered again", function(c)
    c:send(resp.encode("SET", "again", "x"))
    is(c:read(), "OK")
    for _, n in ipairs{2, 3, 31, 32, 33, 64, 65, 200} do
        c:send(resp.encode("GET", "again"):rep(n) .. resp.encode("GET", "other"):rep(3) .. "PING\r\n")
        for _ = 1, n do is(c:read(), "x") end
        for _ = 1, 3 do is(c:read(), resp.null) end
        is(c:read(), "PONG")
    end
    c:send(resp.encode("GET"):rep(5) .. resp.encode("HSET", "hash", "f", "1"):rep(5) ..
        resp.encode("GET", "hash"):rep(5) .. resp.encode("INCR", "count"):rep(40) ..
        resp.encode("GET", "count"):rep(3))
    for _ = 1, 5 do is(c:read().error, "ERR wrong number of arguments for 'get' command") end
    for i = 1, 5 do is(c:read(), i == 1 and 1 or 0) end
    for _ = 1, 5 do is(c:read().error:match("^WRONGTYPE") ~= nil, true) end
    for i = 1, 40 do is(c:read(), i) end
    for _ = 1, 3 do is(c:read(), "40") end
end)

case("lines with quotes after empty arrays keep their words", function(c)
    local words = {"a1", "b2", ("c"):rep(5000), "b2", "d"}
    for _, empty in ipairs{"*0\r\n", "*-1\r\n", ""} do
        local t = {}
        for i, word in ipairs(words) do t[i] = empty .. 'ECHO "' .. word .. '"\r\n' end
        c:send(resp.encode("PING") .. table.concat(t))
        is(c:read(), "PONG")
        for _, word in ipairs(words) do is(c:read(), word) end
        c:send((empty .. 'ECHO "same"\r\n'):rep(8))
        for _ = 1, 8 do is(c:read(), "same") end
    end
end)

case("CLIENT REPLY holds for RESET and errors of the protocol too", function(c)
    local encode = require("resp").encode
    c:send(encode("CLIENT", "REPLY", "SKIP") .. encode("RESET") .. encode("PING"))
    is(c:read(), "PONG")
    c:send(encode("CLIENT", "REPLY", "OFF") .. encode("PING") .. encode("RESET"))
    is(c:read(), "RESET")
    for _, word in ipairs({"OFF", "SKIP"}) do
        local other = check.connect()
        other:send(encode("CLIENT", "REPLY", word) .. "*1\r\n$x\r\n")
        local fine, wrong = pcall(other.read, other)
        is(fine, false)
        assert(tostring(wrong):find("closed", 1, true), wrong)
        other:close()
    end
end)

check.run()
