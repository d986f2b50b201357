-- SORT: orders that a random comparison does not reach.
local check = require "check"
local case, is, fails = check.case, check.is, check.fails
local resp = require "resp"

case("by keys and by fields, with what they are looked up for", function(c)
    for i = 1, 20 do
        c("SADD", "s", i)
        c("SET", "w_" .. i, (i * 7) % 20)
        c("HSET", "h_" .. i, "w", (i * 3) % 20, "name", "n" .. i)
    end
    local by, all = {}, {}
    for i = 1, 20 do all[i] = i end
    table.sort(all, function(a, b) return a * 7 % 20 < b * 7 % 20 end)
    for i = 1, 20 do by[i] = tostring(all[i]) end
    is(c("SORT", "s", "BY", "w_*"), by)
    table.sort(all, function(a, b) return a * 3 % 20 > b * 3 % 20 end)
    local got = c("SORT", "s", "BY", "h_*->w", "DESC", "LIMIT", "2", "2", "GET", "h_*->name", "GET", "#",
        "GET", "no_*")
    is(got, {"n" .. all[3], tostring(all[3]), resp.null, "n" .. all[4], tostring(all[4]), resp.null})
end)

case("keys that are all empty, or are not there", function(c)
    c("RPUSH", "l", "b", "a")
    c("MSET", "w_a", "", "w_b", "")
    is(c("SORT", "l", "BY", "w_*", "ALPHA"), {"b", "a"})
    c("DEL", "w_a", "w_b", "l")
    c("RPUSH", "l", "", "")
    is(c("SORT", "l", "ALPHA"), {"", ""})
    c("DEL", "l")
end)

case("a target may be the source, and another type before", function(c)
    c("RPUSH", "l", "3", "1", "2")
    is(c("SORT", "l", "STORE", "l"), 3)
    is(c("LRANGE", "l", "0", "-1"), {"1", "2", "3"})
    c("SET", "t", "x", "EX", "100")
    is(c("SORT", "l", "DESC", "STORE", "t"), 3)
    is(c("TTL", "t"), -1)
    is(c("LRANGE", "t", "0", "-1"), {"3", "2", "1"})
    is(c("SORT", "nothing", "STORE", "t"), 0)
    is(c("EXISTS", "t"), 0)
end)

case("a list that is not to be sorted keeps its order, which DESC turns round", function(c)
    c("RPUSH", "l", "3", "1", "2", "5")
    is(c("SORT", "l", "BY", "nosort"), {"3", "1", "2", "5"})
    is(c("SORT", "l", "BY", "nosort", "DESC"), {"5", "2", "1", "3"})
    is(c("SORT", "l", "BY", "nosort", "BY", "w_*"), {"3", "1", "2", "5"})
    is(c("SORT", "l", "BY", "w_*", "BY", "nosort"), {"3", "1", "2", "5"})
    is(c("SORT", "l", "BY", "nosort", "DESC", "LIMIT", "1", "2"), {"2", "1"})
end)

case("what is stored wakes a client that waits", function(c)
    local other = check.connect()
    other:write("BLPOP", "t", "0")
    check.wait(function() return c("INFO", "clients"):find("blocked_clients:1", 1, true) end)
    c("RPUSH", "l", "2", "1")
    is(c("SORT", "l", "STORE", "t"), 2)
    is(other:read(), {"t", "1"})
    is(c("LRANGE", "t", "0", "-1"), {"2"})
    other:close()
end)

case("members in the order of their ranks, of a large sorted set whose ranks were asked for", function(c)
    local words, wanted = {}, {}
    for i = 1, 2000 do
        words[#words + 1] = i
        words[#words + 1] = "m" .. i
        wanted[i] = "m" .. i
    end
    is(c("ZADD", "z", unpack(words)), 2000)
    is(c("ZRANK", "z", "m1500"), 1499)
    is(c("SORT", "z", "BY", "nosort"), wanted)
    is(c("SORT", "z", "BY", "nosort", "DESC", "LIMIT", "0", "2"), {"m2000", "m1999"})
end)

case("10,000 numbers, and what is not one", function(c)
    local bytes = {}
    for i = 1, 10000 do bytes[i] = resp.encode("RPUSH", "l", (i * 7919) % 10007) end
    c:send(table.concat(bytes))
    for _ = 1, 10000 do c:read() end
    local sorted = c("SORT", "l")
    for i = 2, #sorted do assert(tonumber(sorted[i - 1]) <= tonumber(sorted[i])) end
    c("RPUSH", "l", "x")
    fails(c("SORT", "l"), "ERR One or more scores can't be converted into double")
end)

check.run()
