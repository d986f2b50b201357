-- Sets: what the comparison with Redis can't see: odd names of members, chance, cursors.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

local names = {"", "a", ("n"):rep(250), ("n"):rep(251), ("n"):rep(5000), "10", "-1.5", "007", "\0",
    ("\0"):rep(200), "\255K", "e", "l"}

local function members(list)
    local t = {}
    for _, name in ipairs(list) do
        is(t[name], nil)
        t[name] = true
    end
    return t
end

case("every name of a member is found, by itself and in other sets", function(c)
    for i, name in ipairs(names) do
        is(c("SADD", "a", name), 1)
        is(c("SADD", "a", name), 0)
        is(c("SCARD", "a"), i)
        c("SADD", "b", name, "more" .. i)
    end
    for _, command in ipairs({"SMEMBERS a", "SINTER a b", "SUNION a a", "SDIFF a c"}) do
        local words = {}
        for word in command:gmatch("%S+") do words[#words + 1] = word end
        local all = members(c(unpack(words)))
        for _, name in ipairs(names) do is(all[name], true) end
    end
    is(c("SINTERSTORE", "b", "a", "b"), #names)
    is(c("SDIFFSTORE", "b", "a", "b"), 0)
    is(c("EXISTS", "b"), 0)
    for _, name in ipairs(names) do
        is(c("SMOVE", "a", "b", name), 1)
        is(c("SISMEMBER", "b", name), 1)
    end
    is(c("SREM", "b", unpack(names)), #names)
    is(c("DBSIZE"), 0)
end)

case("SSCAN answers each member once, on any worker", function(c)
    local left, n, cursor = {}, 0, "0"
    for i = 1, 700 do
        local name = i .. (i % 20 == 0 and ("x"):rep(300) or "")
        c("SADD", "s", name)
        left[name] = true
    end
    repeat
        local other = check.connect()
        local answer = other("SSCAN", "s", cursor, "COUNT", 7)
        cursor = answer[1]
        for _, name in ipairs(answer[2]) do
            is(left[name], true)
            left[name] = nil
            n = n + 1
        end
        other:close()
    until cursor == "0"
    is(n, 700)
end)

case("SPOP takes different ones, and all of them in the end", function(c)
    for _, size in ipairs({30, 3000}) do
        local left = {}
        for i = 1, size do
            c("SADD", "s", "m" .. i)
            left["m" .. i] = true
        end
        while size > 0 do
            local answer = size % 7 == 0 and {c("SPOP", "s")} or c("SPOP", "s", math.min(41, size))
            for _, name in ipairs(answer) do
                is(left[name], true)
                left[name] = nil
            end
            size = size - #answer
            is(c("SCARD", "s"), size)
        end
        is(c("EXISTS", "s"), 0)
    end
end)

case("SRANDMEMBER and SPOP are fair", function(c)
    for i = 1, 300 do c("SADD", "s", i % 2 == 0 and i or "member " .. i) end
    for _, count in ipairs({5, 10, 250, -10, -250}) do
        local counts, total = {}, 0
        for _ = 1, math.ceil(18000 / math.abs(count)) do
            for _, name in ipairs(c("SRANDMEMBER", "s", count)) do
                counts[name] = (counts[name] or 0) + 1
                total = total + 1
            end
        end
        check.even(counts, 300, total)
    end
    local counts = {}
    c("DEL", "s")
    for _ = 1, 2000 do
        c("SADD", "s", "a", "b", "c", "d", "5")
        local name = c("SPOP", "s")
        counts[name] = (counts[name] or 0) + 1
    end
    check.even(counts, 5, 2000)
end)

-- One that looked for a header before, and for members after another client had made both, took it for a
-- hash.
case("two clients add to sets that were not there", function()
    local pair = check.spread(2)
    for round = 1, 300 do
        local bytes = {}
        for i = 1, 200 do
            bytes[i] = resp.encode("SADD", round .. ":" .. i, "m") .. resp.encode("PING") -- each by itself
        end
        for _, one in ipairs(pair) do one:send(table.concat(bytes)) end
        local new = {0, 0}
        for i = 1, 200 do
            for k, one in ipairs(pair) do
                new[k] = one:read()
                is(one:read(), "PONG")
            end
            is({i, new[1] + new[2]}, {i, 1})
        end
    end
    for _, one in ipairs(pair) do one:close() end
end)

check.run()
