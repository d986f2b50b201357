-- Clients that wait for members of a sorted set, on any worker.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

local function blocked(c) return tonumber(c("INFO", "clients"):match("blocked_clients:(%d+)")) end

-- A connection that has sent a command which waits; n wait then.
local function waiting(c, n, ...)
    local one = check.connect()
    one:send(resp.encode(...))
    check.wait(function() return blocked(c) == n end)
    return one
end

case("each member goes to one client that waits", function(c)
    local all, seen = {}, {}
    for i = 1, 8 do all[i] = waiting(c, i, i % 2 == 0 and "BZPOPMIN" or "BZPOPMAX", "z", "y", 0) end
    for i = 1, 8 do is(c("ZADD", "z", i, "m" .. i), 1) end
    for i = 1, 8 do
        local answer = all[i]:read()
        is(answer, {"z", "m" .. answer[3], answer[3]})
        is(seen[answer[3]], nil)
        seen[answer[3]] = true
        all[i]:close()
    end
    is(c("EXISTS", "z"), 0)
end)

case("one ZADD serves many, each from its end; the rest stays", function(c)
    local a = waiting(c, 1, "BZPOPMIN", "z", 0)
    local b = waiting(c, 2, "BZPOPMAX", "z", 0)
    local d = waiting(c, 3, "BZMPOP", 0, 2, "x", "z", "MAX", "COUNT", 1)
    is(c("ZADD", "z", 1, "a", 2, "b", 3, "c", 4, "d", 5, "e"), 5)
    is(a:read(), {"z", "a", "1"})
    local e, f = b:read(), d:read() -- whichever came first
    is(e[1] .. f[1] .. #e .. #f, "zz32")
    is(e[3] + f[2][1][2], 9)
    is(c("ZRANGE", "z", 0, -1), {"b", "c"})
    for _, one in ipairs({a, b, d}) do one:close() end
end)

case("whatever makes the set wakes", function(c)
    local makers = {
        {"ZUNIONSTORE", "z", 1, "from"}, {"ZRANGESTORE", "z", "from", 0, -1}, {"COPY", "from", "z"},
        {"ZINCRBY", "z", 7, "m"}, {"GEOSEARCHSTORE", "z", "places", "FROMMEMBER", "m", "BYRADIUS", 1, "km"},
        {"RENAME", "from", "z"},
    }
    c("ZADD", "from", 7, "m")
    c("GEOADD", "places", 13.3, 38.1, "m")
    for _, words in ipairs(makers) do
        local one = waiting(c, 1, "BZPOPMIN", "z", 0)
        c(unpack(words))
        is(one:read()[2], "m")
        one:close()
    end
end)

case("a list does not serve it, and EXEC does not wait", function(c)
    local one = waiting(c, 1, "BZPOPMIN", "z", 0)
    c("RPUSH", "z", "x")
    c("DEL", "z")
    c("MULTI")
    c("BZPOPMIN", "z", 0)
    c("ZADD", "z", 1, "a")
    c("BZPOPMAX", "z", 0)
    is(c("EXEC"), {resp.null, 1, {"z", "a", "1"}})
    is(blocked(c), 1)
    c("ZADD", "z", 2, "b")
    is(one:read(), {"z", "b", "2"})
    one:close()
end)

check.run()
