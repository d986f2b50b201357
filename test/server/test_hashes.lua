-- Hashes: what the comparison with Redis can't see: odd names of fields, chance, cursors, trees of other
-- programs.
local check = require "check"
local case, is = check.case, check.is

local names = {"", "a", ("n"):rep(249), ("n"):rep(250), ("n"):rep(251), ("n"):rep(5000), "10", "-1.5", "007",
    "\0", ("\0"):rep(200), "\255K", "e", "l"}

local function pairs_of(list)
    local t = {}
    for i = 1, #list, 2 do
        is(t[list[i]], nil)
        t[list[i]] = list[i + 1]
    end
    return t
end

case("every name of a field comes back", function(c)
    for i, name in ipairs(names) do
        is(c("HSET", "h", name, i), 1)
        is(c("HSET", "h", name, "v" .. i), 0)
        is(c("HGET", "h", name), "v" .. i)
        is(c("HLEN", "h"), i)
    end
    local all, seen = pairs_of(c("HGETALL", "h")), pairs_of(c("HSCAN", "h", 0, "COUNT", 100)[2])
    for i, name in ipairs(names) do
        is(all[name], "v" .. i)
        is(seen[name], "v" .. i)
    end
    c("RENAME", "h", ("k"):rep(300))
    for i, name in ipairs(names) do
        is(c("HSTRLEN", ("k"):rep(300), name), #("v" .. i))
        is(c("HDEL", ("k"):rep(300), name), 1)
    end
    is(c("DBSIZE"), 0)
end)

case("HSCAN answers each field once, on any worker", function(c)
    local wanted, n = {}, 0
    for i = 1, 700 do
        local name = i .. (i % 20 == 0 and ("x"):rep(300) or "")
        c("HSET", "h", name, i)
        wanted[name] = tostring(i)
    end
    c("HSET", "h", "", "0")
    wanted[""] = "0"
    local cursor = "0"
    repeat
        local other = check.connect()
        local answer = other("HSCAN", "h", cursor, "COUNT", 7)
        cursor = answer[1]
        for name, value in pairs(pairs_of(answer[2])) do
            is(value, wanted[name])
            wanted[name] = nil
            n = n + 1
        end
        other:close()
    until cursor == "0"
    is(n, 701)
end)

case("HRANDFIELD is fair", function(c)
    for _, size in ipairs({40, 400}) do
        c("DEL", "h")
        for i = 1, size do c("HSET", "h", "f" .. i, i) end
        for _, count in ipairs({10, 39, -10, -400}) do
            local counts, total = {}, 0
            for _ = 1, math.ceil(size * 60 / math.abs(count)) do
                local answer = c("HRANDFIELD", "h", count)
                local here = {}
                for _, name in ipairs(answer) do
                    if count > 0 then is(here[name], nil) end
                    here[name] = true
                    counts[name] = (counts[name] or 0) + 1
                    total = total + 1
                end
                is(#answer, math.abs(count))
            end
            check.even(counts, size, total)
        end
    end
end)

-- A program that has the database open itself: the tool.
local tool = (os.getenv("CARET_BUILD") or "../../build") .. "/caret"
local function direct(...)
    local words = {("%q"):format(tool)}
    for _, word in ipairs({...}) do words[#words + 1] = "'" .. word .. "'" end
    words[#words + 1] = ("--db %q"):format(os.getenv("SERVE_FOLDER") .. "/data.caret")
    assert(os.execute(table.concat(words, " ")) == 0)
end

case("a tree of another program is a hash", function(c)
    direct("set", "^redis(\"t\",\"name\")", "Ann")
    direct("set", "^redis(\"t\",7)", "seven")
    is(c("TYPE", "t"), "hash")
    is(c("HLEN", "t"), 2)
    is(c("HGET", "t", "name"), "Ann")
    is(c("HGETALL", "t"), {"7", "seven", "name", "Ann"})
    is(c("HSET", "t", "name", "Bob"), 0)
    is(c("HSET", "t", "new", "1"), 1)
    is(c("HLEN", "t"), 3)
    is(c("HDEL", "t", "7", "name", "new"), 3)
    is(c("EXISTS", "t"), 0)
end)

case("what was large stays so", function(c)
    for i = 1, 513 do c("HSET", "h", i, i) end
    is(c("OBJECT", "ENCODING", "h"), "hashtable")
    for i = 2, 513 do c("HDEL", "h", i) end
    is(c("OBJECT", "ENCODING", "h"), "hashtable")
    c("COPY", "h", "i")
    is(c("OBJECT", "ENCODING", "i"), "hashtable")
    c("DEL", "h")
    c("HSET", "h", 1, 1)
    is(c("OBJECT", "ENCODING", "h"), "listpack")
end)

check.run()
