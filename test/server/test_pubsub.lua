-- Publish and subscribe over all workers, and keyspace notifications.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails
ffi.cdef "int kill(int, int);"

local function closed(clients)
    for _, one in ipairs(clients) do one:close() end
    local c = check.connect()
    check.wait(function()
        return #c("PUBSUB", "CHANNELS") + #c("PUBSUB", "SHARDCHANNELS") + c("PUBSUB", "NUMPAT") == 0
    end)
    c:close()
end

case("a message reaches clients of all workers, in order", function(c)
    local list = check.spread(6)
    for i, one in ipairs(list) do
        is(one("SUBSCRIBE", "a", "b"), {"subscribe", "a", 1})
        is(one:read(), {"subscribe", "b", 2})
        if i > 3 then is(one("PSUBSCRIBE", "a*"), {"psubscribe", "a*", 3}) end
    end
    for i = 1, 50 do is(c("PUBLISH", "a", i), 9) end
    is(c("PUBLISH", "b", "x"), 6)
    is(c("PUBLISH", "c", "x"), 0)
    is(c("PUBSUB", "NUMSUB", "a", "b", "c"), {"a", 6, "b", 6, "c", 0})
    is(c("PUBSUB", "NUMPAT"), 1)
    local names = c("PUBSUB", "CHANNELS")
    table.sort(names)
    is(names, {"a", "b"})
    is(c("PUBSUB", "CHANNELS", "b*"), {"b"})
    for i, one in ipairs(list) do
        for k = 1, 50 do
            is(one:read(), {"message", "a", tostring(k)})
            if i > 3 then is(one:read(), {"pmessage", "a*", "a", tostring(k)}) end
        end
        is(one:read(), {"message", "b", "x"})
    end
    closed(list)
    is(c("PUBLISH", "a", "x"), 0)
end)

case("in EXEC channels are subscribed to, shard channels are not", function()
    local one = check.connect()
    one("MULTI")
    one("SSUBSCRIBE", "a")
    one("SUBSCRIBE", "b")
    local answers = one("EXEC")
    fails(answers[1], "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
    is(answers[2], {"subscribe", "b", 1})
    one:close()
end)

case("shard channels are a space of their own", function(c)
    local list = check.spread(4)
    for _, one in ipairs(list) do
        is(one("SSUBSCRIBE", "a"), {"ssubscribe", "a", 1})
        is(one("SUBSCRIBE", "a"), {"subscribe", "a", 1})
    end
    is(c("SPUBLISH", "a", "1"), 4)
    is(c("PUBLISH", "a", "2"), 4)
    is(c("PUBSUB", "SHARDNUMSUB", "a"), {"a", 4})
    is(c("PUBSUB", "SHARDCHANNELS"), {"a"})
    for _, one in ipairs(list) do
        is(one:read(), {"smessage", "a", "1"})
        is(one:read(), {"message", "a", "2"})
        is(one("UNSUBSCRIBE"), {"unsubscribe", "a", 0})
        is(one("SUNSUBSCRIBE"), {"sunsubscribe", "a", 0})
        is(one("SUNSUBSCRIBE"), {"sunsubscribe", resp.null, 0})
    end
    closed(list)
end)

case("large messages arrive whole", function(c)
    local list = check.spread(4)
    local text = {}
    for i = 1, 6 do text[i] = ("%07d"):format(i):rep(i * i * 20000 + i) end
    for _, one in ipairs(list) do one("SUBSCRIBE", "a") end
    for i = 1, 6 do
        is(c("PUBLISH", "a", text[i]), 4)
        for _, one in ipairs(list) do is(one:read()[3] == text[i], true) end
    end
    closed(list)
end)

case("RESP2: a client that listens can do little else; RESP3: anything", function(c)
    local other = check.connect()
    other("SUBSCRIBE", "a")
    fails(other("GET", "a"), "ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING /")
    is(other("PING"), {"pong", ""})
    is(other("PING", "x"), {"pong", "x"})
    is(other("RESET"), "RESET")
    is(other("GET", "a"), resp.null)
    other("HELLO", "3")
    is(other("SUBSCRIBE", "a"), {push = {"subscribe", "a", 1}})
    is(other("PING"), "PONG")
    is(other("PUBLISH", "a", "1"), {push = {"message", "a", "1"}})
    is(other:read(), 1)
    other("MULTI")
    other("PUBLISH", "a", "2")
    other("PING")
    is(other("EXEC"), {1, "PONG"})
    is(other:read(), {push = {"message", "a", "2"}})
    is(c("PUBLISH", "a", "3"), 1)
    is(other:read(), {push = {"message", "a", "3"}})
    closed({other})
end)

case("what a discarded transaction publishes is never sent", function(c)
    local other = check.connect()
    other("SUBSCRIBE", "a")
    c("MULTI")
    c("PUBLISH", "a", "1")
    c("DISCARD")
    c("WATCH", "w")
    c("SET", "w", "1")
    c("MULTI")
    c("PUBLISH", "a", "2")
    is(c("EXEC"), resp.null)
    c("PUBLISH", "a", "3")
    is(other:read(), {"message", "a", "3"})
    closed({other})
end)

case("keyspace notifications", function(c)
    local list = check.spread(4)
    is(c("CONFIG", "SET", "notify-keyspace-events", "EKA"), "OK")
    is(c("CONFIG", "GET", "notify-keyspace-events"), {"notify-keyspace-events", "AKE"})
    fails(c("CONFIG", "SET", "notify-keyspace-events", "Q"), "ERR CONFIG SET failed (possibly related to")
    for _, one in ipairs(list) do one("PSUBSCRIBE", "__key*__:k") one("PSUBSCRIBE", "__keyevent@0__:*") end
    for _, one in ipairs(list) do -- each worker has seen the change of the parameter by now
        local mark = check.connect()
        mark:close()
        is(one("PING", "x"), {"pong", "x"})
    end
    c("SET", "k", "1")
    c("SELECT", "1")
    c("SET", "k", "1")
    c("SELECT", "0")
    c("DEL", "k")
    for _, one in ipairs(list) do
        is(one:read(), {"pmessage", "__key*__:k", "__keyspace@0__:k", "set"})
        is(one:read(), {"pmessage", "__keyevent@0__:*", "__keyevent@0__:set", "k"})
        is(one:read(), {"pmessage", "__key*__:k", "__keyspace@1__:k", "set"})
        is(one:read(), {"pmessage", "__key*__:k", "__keyspace@0__:k", "del"})
        is(one:read(), {"pmessage", "__keyevent@0__:*", "__keyevent@0__:del", "k"})
    end
    c("PSETEX", "k", "1", "v") -- another worker may tell of its end before this one has told of its beginning
    for _, one in ipairs(list) do
        local told = {}
        for i = 1, 6 do
            local message = one:read()
            told[i] = message[3]:sub(6, 10) .. message[3]:match(":(.*)") .. ":" .. message[4]
        end
        table.sort(told)
        is(told, {"eventexpire:k", "eventexpired:k", "eventset:k",
            "spacek:expire", "spacek:expired", "spacek:set"})
    end
    c("CONFIG", "SET", "notify-keyspace-events", "Emn")
    c("GET", "absent")
    c("SET", "k2", "1")
    c("SET", "k2", "2")
    c("APPEND", "k3", "1")
    for _, one in ipairs(list) do
        is(one:read(), {"pmessage", "__keyevent@0__:*", "__keyevent@0__:keymiss", "absent"})
        is(one:read(), {"pmessage", "__keyevent@0__:*", "__keyevent@0__:new", "k2"})
        is(one:read(), {"pmessage", "__keyevent@0__:*", "__keyevent@0__:new", "k3"})
    end
    c("CONFIG", "SET", "notify-keyspace-events", "")
    closed(list)
end)

case("keymiss is told of what is looked up to be read, whatever the command", function(c)
    local one = check.connect()
    c("CONFIG", "SET", "notify-keyspace-events", "Em")
    one("SUBSCRIBE", "__keyevent@0__:keymiss")
    c("SADD", "s", "a")
    c("PFADD", "hll", "a")
    local asked = {"GET", "GETDEL", "GETEX", "GETSET", "SORT", "COPY", "BITOP", "SINTERSTORE", "ZDIFFSTORE",
        "ZRANGESTORE", "PFMERGE", "BITFIELD", "SET", "TYPE", "EXISTS", "TTL", "HGET", "SISMEMBER", "ZSCORE"}
    local words = {GETSET = {"none", "1"}, COPY = {"none", "x"}, BITOP = {"NOT", "x", "none"},
        SINTERSTORE = {"x", "s", "none"}, ZDIFFSTORE = {"x", "1", "none"},
        ZRANGESTORE = {"x", "none", "0", "1"}, PFMERGE = {"none", "hll"},
        BITFIELD = {"none", "GET", "u8", "0"}, SET = {"none", "1", "GET"}, HGET = {"none", "f"},
        SISMEMBER = {"none", "a"}, ZSCORE = {"none", "a"}}
    for _, name in ipairs(asked) do
        c("DEL", "none")
        c(name, unpack(words[name] or {"none"}))
        c("GET", "mark:" .. name)
        is(one:read(), {"message", "__keyevent@0__:keymiss", "none"})
        is(one:read(), {"message", "__keyevent@0__:keymiss", "mark:" .. name})
    end
    local refused = {{"XINFO", "STREAM", "none"}, {"XINFO", "GROUPS", "none"}, {"XPENDING", "none", "g"},
        {"XCLAIM", "none", "g", "c", "0", "1-1"}, {"XREADGROUP", "GROUP", "g", "c", "STREAMS", "none", ">"},
        {"EVAL", "redis.call('xinfo', 'stream', 'none')", "0"}, {"SINTER", "none", "hll"}}
    for i, words_of in ipairs(refused) do
        is(c(unpack(words_of)).error ~= nil, true)
        c("GET", "mark:" .. i)
        is(one:read(), {"message", "__keyevent@0__:keymiss", "none"})
        is(one:read(), {"message", "__keyevent@0__:keymiss", "mark:" .. i})
    end
    c("MULTI")
    c("SET", "x", "1")
    c("XINFO", "STREAM", "none")
    c("GET", "mark")
    c("EXEC")
    is(one:read(), {"message", "__keyevent@0__:keymiss", "none"})
    is(one:read(), {"message", "__keyevent@0__:keymiss", "mark"})
    c("DEL", "none") -- these tell of nothing
    for _, of in ipairs {"ENCODING", "FREQ", "IDLETIME", "REFCOUNT"} do c("OBJECT", of, "none") end
    c("MEMORY", "USAGE", "none")
    c("LPOP", "none")
    c("GET", "mark")
    is(one:read(), {"message", "__keyevent@0__:keymiss", "mark"})
    c("XREAD", "STREAMS", "none", "other", "0", "$") -- Redis looks twice
    for _, name in ipairs {"none", "other", "none", "other"} do
        is(one:read(), {"message", "__keyevent@0__:keymiss", name})
    end
    c("CONFIG", "SET", "notify-keyspace-events", "")
    closed({one})
end)

case("a client that takes no messages is ended", function(c)
    local other = check.connect()
    c("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0")
    is(c("CONFIG", "GET", "client-output-buffer-limit")[2]:match("pubsub.*"), "pubsub 1048576 0 0")
    other("SUBSCRIBE", "a")
    local text, gone = ("x"):rep(100000), false
    check.wait(function()
        for _ = 1, 50 do gone = gone or c("PUBLISH", "a", text) == 0 end
        return gone
    end)
    c("CONFIG", "SET", "client-output-buffer-limit", "pubsub 33554432 8388608 60")
    closed({other})
end)

case("a killed worker takes its clients along, and no others", function(c)
    local list = check.spread(5)
    local many = {}
    for i = 1, 200 do many[i] = "ch" .. i end
    for _, one in ipairs(list) do
        one("SUBSCRIBE", unpack(many))
        for _ = 2, 200 do one:read() end
    end
    local left = check.workers()[1]
    ffi.C.kill(left, 9)
    check.wait(function()
        local now = check.workers()
        for _, pid in ipairs(now) do if pid == left then return false end end
        return #now > 0
    end)
    local alive = 0
    for _, one in ipairs(list) do
        local fine = pcall(one, "PING")
        if fine then alive = alive + 1 else one:close() one.fd = nil end
    end
    local fresh = check.connect()
    check.wait(function() return fresh("PUBSUB", "NUMSUB", "ch200")[2] == alive end)
    is(fresh("PUBLISH", "ch7", "x"), alive)
    for _, one in ipairs(list) do
        if one.fd then
            is(one:read(), {"message", "ch7", "x"})
            one:close()
        end
    end
    c:close()
    fresh:close()
end)

case("a worker that does nothing tells of a key that it finds due, as was just asked for", function(c)
    for _, one in ipairs(check.spread(check.info(c, "workers"))) do
        one("PSUBSCRIBE", "*")
        c("CONFIG", "SET", "notify-keyspace-events", "Ex")
        c:send("PSETEX due 1 x\r\nDEBUG SLEEP 0.2\r\n") -- so another worker finds it, if there is one
        is({c:read(), c:read()}, {"OK", "OK"})
        is(one:read(), {"pmessage", "*", "__keyevent@0__:expired", "due"})
        c("CONFIG", "SET", "notify-keyspace-events", "")
        one:close()
    end
end)

check.run()
