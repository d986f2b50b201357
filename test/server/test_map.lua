-- map-prefix: keys that are nodes of a program's global.
-- config: map-prefix user: ^user :
-- config: map-prefix whole: ^whole ""
-- config: map-prefix "a b" ^two --
local check = require "check"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails

local function sorted(list)
    table.sort(list)
    return list
end

-- All that SCAN tells, in parts of n.
local function scanned(c, n)
    local cursor, all = "0", {}
    repeat
        local answer = c("SCAN", cursor, "COUNT", n)
        cursor = answer[1]
        for _, key in ipairs(answer[2]) do all[#all + 1] = key end
    until cursor == "0"
    return sorted(all)
end

case("a key is a node, and a node a key", function(c)
    is(c("SET", "user:7:name", "Bob"), "OK")
    is(c("CARET.GET", "^user", "7", "name"), "Bob")
    is(c("CARET.GET", "^redis", "user:7:name"), resp.null)
    c("CARET.SET", "^user", "7", "mail", "b@x")
    c("CARET.SET", "^user", "7", "12")
    is(c("MGET", "user:7:mail", "user:7", "user:8"), {"b@x", "12", resp.null})
    is({c("INCRBY", "user:7", 5), c("CARET.GET", "^user", "7")}, {"17", "17"})
    is({c("APPEND", "user:7:name", "by"), c("GETRANGE", "user:7:name", 1, 3)}, {5, "obb"})
    is({c("TYPE", "user:7"), c("STRLEN", "user:7:mail")}, {"string", 3})
    is(c("EXISTS", "user:7:name", "user:7:no"), 1)
    is({c("SET", "user:", "top"), c("CARET.GET", "^user", "")}, {"OK", "top"})
    is({c("SET", "whole:a:b", 1), c("CARET.GET", "^whole", "a:b")}, {"OK", "1"})
    is({c("SET", "a b1--2", 1), c("CARET.GET", "^two", "1", "2")}, {"OK", "1"})
    is({c("SET", "user:07", 1), c("GET", "user:7")}, {"OK", "17"})
end)

case("whatever changes a key, its node has the bytes and no header", function(c)
    for _, how in ipairs{{"SET", "%s", "x"}, {"APPEND", "%s", "by"}, {"SETRANGE", "%s", "1", "x"},
        {"SETBIT", "%s", "3", "1"}, {"BITFIELD", "%s", "SET", "u8", "0", "65"}, {"INCRBYFLOAT", "%s", "2"},
        {"PFADD", "%s", "a"}, {"BITOP", "NOT", "%s", "five"}} do
        for _, after in ipairs{{"PING"}, {"PERSIST", "user:7"}, {"RENAME", "plain", "user:7"},
            {"COPY", "plain", "user:7", "REPLACE"}} do
            local key = after[2] == "plain" and "plain" or "user:7"
            c("DEL", "user:7", "plain")
            c("SET", "five", "5")
            if how[1] ~= "PFADD" then c("SET", key, "5") end
            if after[1] == "PERSIST" then c("EXPIRE", key, "1000") end
            local words = {}
            for i, word in ipairs(how) do words[i] = word:format(key) end
            is(type(c(unpack(words))) ~= "table" or how[1] == "BITFIELD", true)
            if after[1] == "PERSIST" and how[1] == "PFADD" then c("EXPIRE", key, "1000") end
            c(unpack(after))
            is(c("CARET.GET", "^user", "7"), c("GET", "user:7"))
        end
    end
    is({c("SET", "user:7", "5"), c("INCRBYFLOAT", "user:7", "1.0"), c("CARET.INCR", "^user", "7", "1")},
        {"OK", "6", "7"})
end)

case("a pipeline of GETs and SETs", function(c)
    c:send(("SET user:1:a x\r\nGET user:1:a\r\nGET other\r\nGET user:1:b\r\n"):rep(20))
    for _ = 1, 20 do
        is({c:read(), c:read(), c:read(), c:read()}, {"OK", "x", resp.null, resp.null})
    end
end)

case("what is below a key stays when the key goes", function(c)
    for _, how in ipairs{{"DEL", "user:7"}, {"GETDEL", "user:7"}, {"EXPIRE", "user:7", -1},
        {"RENAME", "user:7", "x"}, {"RENAME", "user:7", "user:8:x"}} do
        c("MSET", "user:7", "1", "user:7:name", "Bob")
        c(unpack(how))
        is({c("EXISTS", "user:7"), c("GET", "user:7:name")}, {0, "Bob"})
    end
    is({c("GET", "x"), c("GET", "user:8:x")}, {"1", "1"})
    c("SET", "user:8:x:y", "below")
    c("RENAME", "x", "user:8:x")
    c("COPY", "user:8:x", "z")
    is(c("MGET", "user:8:x", "user:8:x:y", "z", "x"), {"1", "below", "1", resp.null})
    is(c("CARET.DATA", "^redis", "user:8:x"), 0)
end)

case("keys of other types have such names too", function(c)
    c("HSET", "user:7", "name", "Bob")
    is({c("TYPE", "user:7"), c("CARET.GET", "^user", "7", "name")}, {"hash", resp.null})
    fails(c("GET", "user:7"), "WRONGTYPE")
    c("SET", "user:7", "x")
    is({c("TYPE", "user:7"), c("CARET.DATA", "^redis", "user:7")}, {"string", 0})
    is(c("CARET.GET", "^user", "7"), "x")
    fails(c("RPUSH", "user:7", "1"), "WRONGTYPE")
    c("SADD", "s", "1", "2")
    is({c("SUNIONSTORE", "user:7", "s"), c("TYPE", "user:7")}, {2, "set"})
    is(c("CARET.DATA", "^user", "7"), 0)
    c("SET", "user:8", "x")
    is({c("RENAME", "s", "user:8"), c("TYPE", "user:8"), c("CARET.DATA", "^user", "8")}, {"OK", "set", 0})
    is(sorted(c("KEYS", "*")), {"user:7", "user:8"})
end)

case("a string from before is found, and moves when it is set", function(c)
    c("CARET.SET", "^redis", "user:9", "old")
    c("MULTI")
    c("GET", "user:9")
    c("SET", "user:9", "new")
    c("GET", "user:9")
    is(c("EXEC"), {"old", "OK", "new"})
    is({c("CARET.DATA", "^redis", "user:9"), c("CARET.GET", "^user", "9")}, {0, "new"})
end)

case("keys are told, once each, and counted", function(c)
    local keys = {}
    for i = 1, 40 do
        keys[#keys + 1] = "user:" .. i
        keys[#keys + 1] = "user:" .. i .. ":name"
        keys[#keys + 1] = "plain" .. i
    end
    for _, key in ipairs(keys) do c("SET", key, key) end
    c("SADD", "user:5:tags", "x")
    c("CARET.SET", "^user", "5", "a:b", "not a key: its name would be that of ^user(5,\"a\",\"b\")")
    c("CARET.SET", "^user", "6", "long", ("x"):rep(220), "not a key: its name is too long")
    c("CARET.SET", "^users", "1", "another global")
    keys[#keys + 1] = "user:5:tags"
    sorted(keys)
    is(sorted(c("KEYS", "*")), keys)
    is(c("DBSIZE"), #keys)
    for _, n in ipairs{1, 7, 1000} do is(scanned(c, n), keys) end
    is(sorted(c("KEYS", "user:7*")), {"user:7", "user:7:name"})
    local seen, mapped = {}, 0
    for _ = 1, 200 do
        local key = c("RANDOMKEY")
        seen[key] = true
        mapped = mapped + (key:find("^user:") and 1 or 0)
    end
    is(mapped > 20 and mapped < 180, true)
    for key in pairs(seen) do is(c("EXISTS", key), 1) end
    is(c("FLUSHDB"), "OK")
    is({c("DBSIZE"), c("RANDOMKEY")}, {0, resp.null})
    is({c("CARET.DATA", "^user"), c("CARET.KILL", "^users")}, {0, 1})
end)

case("keys that expire", function(c)
    c("SET", "user:1", "a", "PX", 20)
    c("SET", "user:1:b", "b", "EX", 100)
    c("SET", "user:1:c", "c")
    is({c("GET", "user:1:b"), c("TTL", "user:1:b") > 90, c("TTL", "user:1:c")}, {"b", true, -1})
    check.wait(function() return c("CARET.DATA", "^user", "1") == 10 end) -- the sweep was there
    is({c("GET", "user:1"), c("GET", "user:1:b")}, {resp.null, "b"})
    is({c("PERSIST", "user:1:b"), c("CARET.GET", "^user", "1", "b")}, {1, "b"})
end)

case("WATCH sees a program's change", function(c)
    local other = check.connect()
    c("WATCH", "user:1:n")
    other("CARET.SET", "^user", "1", "n", "5")
    c("MULTI")
    c("GET", "user:1:n")
    is(c("EXEC"), resp.null)
    c("WATCH", "user:1:n")
    other("CARET.SET", "^user", "2", "n", "5")
    c("MULTI")
    c("INCR", "user:1:n")
    is(c("EXEC"), {6})
    other:close()
end)

case("scripts, and other databases", function(c)
    is(c("EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1]) .. "
        .. "caret.node('^user')[3].x.__", 1, "user:3:x", "1"), "11")
    c("SELECT", 1)
    c("SET", "user:3:x", "other")
    is({c("CARET.GET", "^redis1", "user:3:x"), c("CARET.GET", "^user", "3", "x")}, {"other", "1"})
    is({c("MOVE", "user:3:x", 0), c("DEL", "user:3:x")}, {0, 1})
    c("SELECT", 0)
    is({c("GET", "user:3:x"), c("MOVE", "user:3:x", 1), c("CARET.DATA", "^user", "3")}, {"1", 1, 0})
    c("SELECT", 1)
    is(c("GET", "user:3:x"), "1")
    c("SELECT", 0)
    local dump = (c("SET", "user:4", "v") and c("DUMP", "user:4"))
    is({c("RESTORE", "user:5:y", 0, dump), c("CARET.GET", "^user", "5", "y")}, {"OK", "v"})
end)

check.run()
