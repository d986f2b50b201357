-- Sorted sets: what the comparison with Redis can't see, or not as much of: ranks in large sets, long
-- members, thresholds of encodings.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

-- Members and scores as they should be.
local function sorted(model)
    local list = {}
    for member, score in pairs(model) do list[#list + 1] = {member, score} end
    table.sort(list, function(a, b)
        if a[2] ~= b[2] then return a[2] < b[2] end
        return a[1] < b[1]
    end)
    return list
end

-- Every rank, and every member by its rank.
local function agree(c, key, model, step)
    local list = sorted(model)
    is(c("ZCARD", key), #list)
    for i = 1, #list, step do
        is(c("ZRANK", key, list[i][1]), i - 1)
        is(c("ZREVRANK", key, list[i][1]), #list - i)
        is(c("ZRANGE", key, i - 1, i - 1), {list[i][1]})
        is(c("ZREVRANGE", key, i - 1, i - 1), {list[#list - i + 1][1]})
        local n = 0
        while list[n + 1][2] < list[i][2] do n = n + 1 end
        is(c("ZCOUNT", key, list[1][2], "(" .. list[i][2]), n)
    end
    local all = c("ZRANGE", key, 0, -1)
    for i, item in ipairs(list) do is(all[i], item[1]) end
end

-- Send many at once, and drop the answers.
local function send(c, commands)
    for i, words in ipairs(commands) do commands[i] = resp.encode(unpack(words)) end
    c:send(table.concat(commands))
    for _ = 1, #commands do c:read() end
end

case("ranks stay right through changes of every size", function(c)
    math.randomseed(16)
    local model = {}
    local function change(n, grow, score)
        local commands = {}
        for _ = 1, n do
            local member = "m" .. math.random(4000)
            if math.random() < grow then
                model[member] = score()
                commands[#commands + 1] = {"ZADD", "z", model[member], member}
            else
                model[member] = nil
                commands[#commands + 1] = {"ZREM", "z", member}
            end
        end
        send(c, commands)
        agree(c, "z", model, 37)
    end
    local function any() return math.random(-1000, 1000) / 8 end
    change(1500, 1, any)
    change(1500, 0.5, any)
    local right = 1000
    change(3000, 0.6, function() -- new ones come at one end
        right = right + 1
        return right
    end)
    change(3000, 0.5, function() return 7 end) -- all have one score
    change(6000, 0.1, any)
    change(2000, 0.9, function() return any() / 1e30 end)
end)

case("a set that grows a hundredfold, and shrinks", function(c)
    local model, commands = {}, {}
    for i = 1, 300 do
        model["a" .. i] = i
        commands[i] = {"ZADD", "z", i, "a" .. i}
    end
    send(c, commands)
    is(c("ZRANK", "z", "a200"), 199)
    for round = 1, 4 do
        commands = {}
        for i = 1, 4000 do
            local member = "b" .. round .. "." .. i
            model[member] = i * 7919 % 4001
            commands[i] = {"ZADD", "z", model[member], member}
        end
        send(c, commands)
        agree(c, "z", model, 997)
    end
    local n = 0
    for member, score in pairs(model) do
        if score < 3900 then
            n = n + 1
            model[member] = nil
        end
    end
    is(c("ZREMRANGEBYSCORE", "z", "-inf", "(3900"), n)
    agree(c, "z", model, 17)
    is(c("RENAME", "z", "y"), "OK")
    is(c("ZREMRANGEBYRANK", "y", 0, 99), 100)
    for i, item in ipairs(sorted(model)) do
        if i <= 100 then model[item[1]] = nil end
    end
    agree(c, "y", model, 7)
end)

case("members of any bytes and length", function(c)
    local members = {"", "e", "l", "#", "n", "10", "9", "-1.5", "007", "\0", ("\0"):rep(250),
        ("\255"):rep(250), ("x"):rep(250), ("x"):rep(251), ("x"):rep(250) .. "y", ("y"):rep(100000), "\255K",
        "\193z"}
    for _, key in ipairs({"z", ("\0"):rep(200), ("k"):rep(1000)}) do
        for i, member in ipairs(members) do
            for _, score in ipairs({i, 0.1, -i, 5e-324, 1.7e308, -1.1}) do
                c("ZADD", key, ("%.17g"):format(score), member)
                is(tonumber(c("ZSCORE", key, member)), score)
                local text = ("%.17g"):format(score)
                is(c("ZCOUNT", key, text, text) > 0, true)
            end
            c("ZADD", key, i % 3, member)
        end
        is(c("ZCARD", key), #members)
        local seen, n = {}, 0
        for _, member in ipairs(c("ZRANGE", key, 0, -1)) do
            seen[member] = true
            n = n + 1
        end
        is(n, #members)
        for _, member in ipairs(members) do
            is(seen[member], true)
            is(c("ZRANGE", key, c("ZRANK", key, member), c("ZRANK", key, member)), {member})
        end
        for i, member in ipairs(members) do
            is(c("ZREM", key, member), 1)
            is(c("ZCARD", key), #members - i)
        end
        is(c("EXISTS", key), 0)
    end
end)

case("scores keep all their bits", function(c)
    local scores = {"0.1", "-0.1", "3.0000000000000004", "1e308", "-1e308", "4.9406564584124654e-324",
        "inf", "-inf", "9007199254740993", "123456789012345678", "1e17", "1e-7"}
    for i, score in ipairs(scores) do c("ZADD", "z", score, "m" .. i) end
    local before = -math.huge
    local all = c("ZRANGE", "z", 0, -1, "WITHSCORES")
    is(#all, 2 * #scores)
    for i = 2, #all, 2 do
        is(tonumber(all[i]) >= before, true)
        before = tonumber(all[i])
        is(c("ZSCORE", "z", all[i - 1]), all[i])
        is(tonumber(all[i]), tonumber(scores[tonumber(all[i - 1]:sub(2))]))
    end
end)

case("encodings change at their thresholds, and don't go back", function(c)
    local function encoding() return c("OBJECT", "ENCODING", "z") end
    for i = 1, 128 do c("ZADD", "z", i, "m" .. i) end
    is(encoding(), "listpack")
    c("ZADD", "z", 129, "m129")
    is(encoding(), "skiplist")
    c("ZREMRANGEBYRANK", "z", 0, 100)
    is(encoding(), "skiplist")
    c("DEL", "z")
    c("ZADD", "z", 1, ("x"):rep(64))
    is(encoding(), "listpack")
    c("ZADD", "z", 1, ("x"):rep(65))
    is(encoding(), "skiplist")
    c("DEL", "z")
    is(c("CONFIG", "SET", "zset-max-listpack-entries", 0), "OK")
    c("ZADD", "z", 1, "a")
    is(encoding(), "skiplist")
    is(c("CONFIG", "SET", "zset-max-listpack-entries", 128), "OK")
    c("ZUNIONSTORE", "z", 1, "z")
    is(encoding(), "listpack")
end)

case("a stored range has -0 from where it is large", function(c)
    local function limits(value, entries)
        is(c("CONFIG", "SET", "zset-max-listpack-value", value, "zset-max-listpack-entries", entries), "OK")
    end
    limits(0, 0)
    c("ZADD", "z", "-0", "a", "-0", "bb", "-0", "ccccc", "-0", "d")
    limits(4, 128)
    c("ZRANGESTORE", "t", "z", 0, -1)
    is(c("ZRANGE", "t", 0, -1, "WITHSCORES"), {"a", "0", "bb", "0", "ccccc", "-0", "d", "-0"})
    limits(64, 2)
    c("ZRANGESTORE", "t", "z", "-inf", "+inf", "BYSCORE")
    is(c("ZRANGE", "t", 0, -1, "WITHSCORES"), {"a", "0", "bb", "0", "ccccc", "-0", "d", "-0"})
    c("ZRANGESTORE", "t", "z", 0, -1)
    is(c("ZRANGE", "t", 0, 0, "WITHSCORES"), {"a", "-0"})
    limits(64, 128)
end)

case("ZSCAN answers each member once, on any worker", function(c)
    local commands = {}
    for i = 1, 500 do
        commands[i] = {"ZADD", "z", i / 4, "m" .. i .. (i % 50 == 0 and ("x"):rep(300) or "")}
    end
    send(c, commands)
    local seen, cursor, n = {}, "0", 0
    repeat
        local other = check.connect()
        local answer = other("ZSCAN", "z", cursor, "COUNT", 7)
        cursor = answer[1]
        for i = 1, #answer[2], 2 do
            local member = answer[2][i]
            is(seen[member], nil)
            is(tonumber(answer[2][i + 1]), tonumber(member:match("%d+")) / 4)
            seen[member] = true
            n = n + 1
        end
        other:close()
    until cursor == "0"
    is(n, 500)
end)

case("a score that is not a number counts as Redis has it", function(c)
    c("ZADD", "a", "-1.5", "m")
    c("ZADD", "b", "0", "m", "1", "n")
    local function scores(command, aggregate)
        return c(command, 2, "a", "b", "WEIGHTS", "2", "inf", "AGGREGATE", aggregate, "WITHSCORES")
    end
    is(scores("ZINTER", "SUM"), {"m", "0"}) -- 0 times inf is not, so the sum is not either
    is(scores("ZINTER", "MIN"), {"m", "-3"})
    is(scores("ZINTER", "MAX"), {"m", "-3"})
    is(scores("ZUNION", "SUM"), {"m", "-3", "n", "inf"})
    is(scores("ZUNION", "MAX"), {"m", "0", "n", "inf"})
end)

check.run()
