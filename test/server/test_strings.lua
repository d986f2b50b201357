-- Strings and keys: what the comparison with Redis can't see, as it is ours alone: long names, bytes that
-- look like a header, expiry, cursors.
local check = require "check"
local case, is = check.case, check.is

local names = {"", "a", ("n"):rep(200), ("n"):rep(201), ("n"):rep(100000), "\255K", "\255K" .. ("h"):rep(32),
    ("\0"):rep(200), "10", "-1.5", "007", "\193s\0"}
local values = {"", "x", "\193", "\193s\0", "\193h\1abcdefgh", "12"}

case("every name and value comes back", function(c)
    for i, name in ipairs(names) do
        for _, value in ipairs(values) do
            is(c("SET", name, value), "OK")
            is(c("GET", name), value)
            is(c("STRLEN", name), #value)
            is(c("TYPE", name), "string")
            is(c("PEXPIRE", name, 100000), 1)
            is(c("GET", name), value)
            is(c("PERSIST", name), 1)
            is(c("GET", name), value)
        end
        is(c("DBSIZE"), i)
    end
    local keys = {}
    for _, key in ipairs(c("KEYS", "*")) do keys[key] = true end
    for _, name in ipairs(names) do is(keys[name], true) end
end)

case("names are renamed and copied whatever their length", function(c)
    for _, from in ipairs(names) do
        for _, to in ipairs(names) do
            c("FLUSHALL")
            c("SET", from, "v", "PX", 100000)
            local same = {error = "ERR source and destination objects are the same"}
            is(c("COPY", from, to), from == to and same or 1)
            is(c("RENAME", from, to), "OK")
            is(c("GET", to), "v")
            is(c("PTTL", to) > 90000 and from, from)
            is(c("DBSIZE"), 1)
            is(c("MOVE", to, 3), 1)
            c("SELECT", 3)
            is(c("GET", to), "v")
            c("SELECT", 0)
        end
    end
end)

case("keys end when their time has come", function(c)
    for i = 1, 300 do c("SET", "k" .. i, i, "PX", i % 2 == 0 and 60 or 100000) end
    check.wait(function() return c("DBSIZE") == 150 end)
    is(c("GET", "k1"), "1")
    is(c("GET", "k2"), require("resp").null)
    c("SET", "k1", "2") -- its entry among those that expire is left over
    c("SET", "k3", "x", "PX", 200000)
    is(c("PTTL", "k1"), -1)
end)

case("a key that is late is not there", function(c)
    c("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    c("SET", "a", "1", "PX", 1)
    check.wait(function() return c("EXISTS", "a") == 0 end)
    is(c("GET", "a"), require("resp").null)
    is(c("INCR", "a"), 1)
    is(c("TTL", "a"), -1)
    c("DEBUG", "SET-ACTIVE-EXPIRE", 1)
end)

case("SCAN answers each key once, on any worker", function(c)
    for i = 1, 500 do c("SET", "k" .. i .. (i % 50 == 0 and ("x"):rep(300) or ""), i) end
    local seen, cursor, n = {}, "0", 0
    repeat
        local other = check.connect()
        local answer = other("SCAN", cursor, "COUNT", 7)
        cursor = answer[1]
        for _, key in ipairs(answer[2]) do
            is(seen[key], nil)
            seen[key] = true
            n = n + 1
        end
        other:close()
    until cursor == "0"
    is(n, 500)
    local all = c("SCAN", "77777777", "COUNT", 1000) -- this server never gave it
    is({all[1], #all[2]}, {"0", 500})
    local first = c("SCAN", "0")[1]
    for _ = 1, 16384 do c:send("SCAN 0 COUNT 1\r\n") end
    for _ = 1, 16384 do c:read() end
    is(c("SCAN", first), {error = "ERR invalid cursor"}) -- forgotten
end)

case("what one connection wrote the next one reads", function(c)
    for i = 1, 200 do
        c("SET", "n", i)
        local other = check.connect()
        is(other("GET", "n"), tostring(i))
        other:close()
    end
end)

check.run()
