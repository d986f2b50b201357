-- CLIENT TRACKING over all workers: each reader is told, and nothing is missed.
local check = require "check"
local resp = require "resp"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails
ffi.cdef "int kill(int, int);"

local function invalid(...) return {push = {"invalidate", {...}}} end
local all = {push = {"invalidate", resp.null}}

-- n clients of RESP3 that track, over all workers.
local function trackers(n, ...)
    local list = check.spread(n)
    for _, one in ipairs(list) do
        one("HELLO", "3")
        is(one("CLIENT", "TRACKING", "ON", ...), "OK")
    end
    return list
end

local function closed(list)
    for _, one in ipairs(list) do one:close() end
    local c = check.connect()
    check.wait(function() return c("INFO", "clients"):find("tracking_clients:0\r", 1, true) end)
    c:close()
end

-- Nothing but what was read has come: the next answer is that of PING.
local function quiet(list)
    for _, one in ipairs(list) do is(one("PING", "quiet"), "quiet") end
end

case("a client that has read a key is told of its next change, once", function(c)
    local list = trackers(6)
    for _, one in ipairs(list) do one("MGET", "a", "b") end
    c("SET", "a", "1")
    for _, one in ipairs(list) do is(one:read(), invalid("a")) end
    c("SET", "a", "2")
    c("SET", "other", "2")
    quiet(list)
    is(list[1]("GET", "a"), "2")
    c("MSET", "a", "3", "b", "3")
    is(list[1]:read(), invalid("a"))
    for _, one in ipairs(list) do is(one:read(), invalid("b")) end
    for _, one in ipairs(list) do is(one("GET", "b"), "3") end
    is(c("FLUSHDB"), "OK")
    for _, one in ipairs(list) do is(one:read(), all) end
    quiet(list)
    closed(list)
end)

case("all kinds of changes are told", function(c)
    local list = trackers(3)
    local function changes(key, read, ...)
        for _, one in ipairs(list) do one(unpack(read)) end
        c(...)
        for _, one in ipairs(list) do is(one:read(), invalid(key)) end
    end
    changes("l", {"LRANGE", "l", 0, -1}, "RPUSH", "l", "1")
    changes("l", {"LLEN", "l"}, "LPOP", "l")
    changes("h", {"HGETALL", "h"}, "HSET", "h", "f", "v")
    changes("h", {"HGET", "h", "f"}, "EXPIRE", "h", "100")
    changes("s", {"SINTER", "s", "t"}, "SADD", "s", "1")
    changes("t", {"EXISTS", "t"}, "SUNIONSTORE", "t", "s")
    changes("z", {"ZSCORE", "z", "m"}, "ZADD", "z", "1", "m")
    changes("x", {"XLEN", "x"}, "XADD", "x", "*", "f", "v")
    changes("e", {"GET", "e"}, "EVAL", "return redis.call('set', KEYS[1], 1)", 1, "e")
    changes("e", {"EVAL", "return redis.call('get', KEYS[1])", 1, "e"}, "RENAME", "e", "e2")
    changes("p", {"GET", "p"}, "PSETEX", "p", "1", "v")
    for _, call in ipairs{"call('get', 'other')", "pcall('strlen', 'other')", "call('hget', 'h', 'f')"} do
        local text = "redis." .. call
        changes("given", {"EVAL", text, 2, "a", "given"}, "SET", "given", "1")
    end
    for _, one in ipairs(list) do one("EVAL", "redis.call('ping') redis.call('get', 'read')", 0) end
    for _, one in ipairs(list) do
        one("EVAL", "redis.call('set', 'x2', '1')", 1, "given")
        one("EVAL_RO", "redis.call('ping')", 1, "given")
    end
    c("MSET", "read", "1", "given", "2")
    quiet(list)
    for _, one in ipairs(list) do one("GET", "p2") end
    local ms = 10
    repeat -- until it expires after all have read it
        local all_read = true
        ms = 2 * ms
        c("SET", "p2", "v", "PX", ms)
        for _, one in ipairs(list) do
            is(one:read(), invalid("p2"))
            all_read = one("GET", "p2") == "v" and all_read
        end
    until all_read
    for _, one in ipairs(list) do is(one:read(), invalid("p2")) end
    closed(list)
end)

case("own writes: after the answer, or with NOLOOP not", function(c)
    local list = trackers(3)
    local one = list[1]
    one("GET", "a")
    is(one("SET", "a", "1"), "OK")
    is(one:read(), invalid("a"))
    one("MULTI")
    one("SET", "a", "2")
    one("GET", "a")
    is(one("EXEC"), {"OK", "2"}) -- it read what it had written: not told
    quiet(list)
    c("SET", "a", "3")
    is(one:read(), invalid("a"))
    one("MULTI")
    one("GET", "a")
    one("SET", "a", "4")
    is(one("EXEC"), {"3", "OK"})
    is(one:read(), invalid("a"))
    one("MULTI")
    one("GET", "a")
    one("SET", "a", "5")
    one("GET", "a")
    is(one("EXEC"), {"4", "OK", "5"})
    is(one:read(), invalid("a"))
    quiet(list)
    is(one("EVAL", "redis.call('set', KEYS[1], 6) return redis.call('get', KEYS[1])", 1, "a"), "6")
    is(one:read(), invalid("a")) -- of the EXEC
    c("SET", "a", "7")
    is(one:read(), invalid("a"))
    closed(list)
    list = trackers(3, "NOLOOP")
    one = list[1]
    one("GET", "a")
    one("SET", "a", "1")
    quiet(list)
    one("GET", "a")
    c("SET", "a", "1")
    is(one:read(), invalid("a"))
    closed(list)
end)

case("BCAST: keys of prefixes, without reading", function(c)
    local list = trackers(6, "BCAST", "PREFIX", "a", "PREFIX", "b")
    c("SET", "a1", "1")
    for _, one in ipairs(list) do is(one:read(), invalid("a1")) end
    c("SET", "c", "1")
    c("SADD", "b1", "1")
    for _, one in ipairs(list) do is(one:read(), invalid("b1")) end
    c("MULTI")
    c("SET", "a3", "1")
    c("SET", "a2", "1")
    c("SET", "a3", "2")
    c("EXEC")
    for _, one in ipairs(list) do is(one:read(), invalid("a2", "a3")) end
    is(c("INFO", "stats"):match("tracking_total_prefixes:(%d+)") + 0 >= 2, true)
    closed(list)
    list = trackers(4, "BCAST", "NOLOOP")
    list[1]("SET", "x", "1")
    for i = 2, 4 do is(list[i]:read(), invalid("x")) end
    quiet(list)
    closed(list)
end)

case("OPTIN and OPTOUT", function(c)
    local list = trackers(1, "OPTIN")
    local one = list[1]
    one("GET", "a")
    is(one("CLIENT", "CACHING", "YES"), "OK")
    one("GET", "b")
    one("GET", "c")
    c("MSET", "a", "1", "b", "1", "c", "1")
    is(one:read(), invalid("b"))
    quiet(list)
    one("CLIENT", "CACHING", "YES")
    one("MULTI")
    one("GET", "a")
    one("GET", "b")
    one("EXEC")
    c("MSET", "a", "1", "b", "1")
    is(one:read(), invalid("a"))
    is(one:read(), invalid("b"))
    closed(list)
    list = trackers(1, "OPTOUT")
    one = list[1]
    one("GET", "a")
    is(one("CLIENT", "CACHING", "NO"), "OK")
    one("GET", "b")
    c("MSET", "a", "1", "b", "1")
    is(one:read(), invalid("a"))
    quiet(list)
    closed(list)
end)

case("REDIRECT to clients of all workers, and to one that ends", function(c)
    local readers, listeners = check.spread(4), check.spread(4)
    for i, one in ipairs(readers) do
        local id = listeners[5 - i]("CLIENT", "ID")
        listeners[5 - i]("SUBSCRIBE", "__redis__:invalidate")
        if i > 2 then one("HELLO", "3") end
        is(one("CLIENT", "TRACKING", "ON", "REDIRECT", id), "OK")
        is(one("CLIENT", "GETREDIR"), id)
        one("GET", "a")
    end
    c("SET", "a", "1")
    for _, one in ipairs(listeners) do is(one:read(), {"message", "__redis__:invalidate", {"a"}}) end
    c("FLUSHALL")
    for _, one in ipairs(listeners) do is(one:read(), {"message", "__redis__:invalidate", resp.null}) end
    local id = readers[4]("CLIENT", "GETREDIR")
    listeners[1]:close()
    check.wait(function() return not c("CLIENT", "LIST"):find("id=" .. id .. " ", 1, true) end)
    readers[4]("GET", "a")
    c("SET", "a", "2")
    is(readers[4]:read(), {push = {"tracking-redir-broken", id}})
    is(readers[4]("CLIENT", "TRACKINGINFO").map[2], {set = {"on", "broken_redirect"}})
    closed(readers)
    closed(listeners)
end)

case("the table is bounded", function(c)
    local list = trackers(1)
    local one = list[1]
    for i = 1, 300 do one("GET", "k" .. i) end
    is(c("INFO", "stats"):match("tracking_total_keys:(%d+)"), "300")
    c("CONFIG", "SET", "tracking-table-max-keys", "100")
    local told = {}
    for _ = 1, 200 do
        local key = one:read().push[2][1]
        is(told[key], nil)
        told[key] = true
    end
    is(c("INFO", "stats"):match("tracking_total_keys:(%d+)"), "100")
    c("CONFIG", "SET", "tracking-table-max-keys", "1000000")
    closed(list)
end)

case("what is changed while nobody tracks is not told later; what is not is", function(c)
    local list = trackers(3)
    for i, one in ipairs(list) do
        one("MGET", "a", "b", "own" .. i)
        one("CLIENT", "TRACKING", "OFF")
    end
    c("SET", "a", "1")
    for i, one in ipairs(list) do one("SET", "own" .. i, "1") end
    is(c("INFO", "stats"):match("tracking_total_keys:(%d+)") + 0 >= 1, true)
    for _, one in ipairs(list) do is(one("CLIENT", "TRACKING", "ON"), "OK") end
    c("MSET", "a", "2", "own1", "2", "own2", "2", "own3", "2")
    quiet(list)
    c("SET", "b", "1") -- read before it was off, as in Redis
    for _, one in ipairs(list) do is(one:read(), invalid("b")) end
    closed(list)
    is(c("INFO", "stats"):match("tracking_total_keys:(%d+)"), "0")
end)

case("FLUSHALL empties the table while nobody tracks", function(c)
    local list = trackers(3)
    for _, one in ipairs(list) do
        one("GET", "a")
        one("CLIENT", "TRACKING", "OFF")
    end
    c("FLUSHALL")
    for _, one in ipairs(list) do is(one("CLIENT", "TRACKING", "ON"), "OK") end
    c("SET", "a", "1")
    quiet(list)
    closed(list)
end)

case("errors", function(c)
    fails(c("CLIENT", "TRACKING", "ON", "PREFIX", "a"), "ERR PREFIX option requires BCAST mode")
    fails(c("CLIENT", "TRACKING", "ON", "REDIRECT", "99999"), "ERR The client ID you want redirect to")
    fails(c("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "a", "PREFIX", "ab"),
          "ERR Prefix 'a' overlaps with another provided prefix 'ab'. Prefixes for a single client must not")
    fails(c("CLIENT", "CACHING", "YES"), "ERR CLIENT CACHING can be called only when")
    is(c("CLIENT", "TRACKINGINFO"), {"flags", {"off"}, "redirect", -1, "prefixes", {}})
end)

local function forget(kept, message)
    if type(message) == "table" and message.push then kept[message.push[2][1]] = nil end
end

case("a reader's value is never old without a message", function(c)
    local list, writers = trackers(4), check.spread(4)
    local kept = {}
    for i = 1, #list do kept[i] = {} end
    for round = 1, 200 do
        for i, one in ipairs(list) do one:write("GET", "k" .. (round + i) % 5) end
        for i, w in ipairs(writers) do w:write("SET", "k" .. (round * i) % 5, round .. "/" .. i) end
        for i, one in ipairs(list) do
            local v
            repeat
                v = one:read()
                forget(kept[i], v)
            until v == resp.null or type(v) == "string"
            kept[i]["k" .. (round + i) % 5] = v
        end
        for _, w in ipairs(writers) do w:read() end
    end
    c("SET", "end", "1")
    for i, one in ipairs(list) do -- what is told of it comes last
        one:write("GET", "end")
        local v
        repeat
            v = one:read()
            forget(kept[i], v)
        until v == "1"
    end
    c("SET", "end", "2")
    for i, one in ipairs(list) do
        local key
        repeat
            key = one:read().push[2][1]
            kept[i][key] = nil
        until key == "end"
        for k, v in pairs(kept[i]) do is(v, c("GET", k)) end
    end
    closed(list)
    closed(writers)
end)

case("a worker that is killed: all may have changed", function(c)
    local n = tonumber(c("INFO", "server"):match("workers:(%d+)"))
    if n == 1 then return end
    local list = trackers(6)
    local victim = list[1]("INFO", "server"):match("worker:(%d+)")
    local others = {}
    for _, one in ipairs(list) do
        if one("INFO", "server"):match("worker:(%d+)") ~= victim then others[#others + 1] = one end
    end
    for _, one in ipairs(others) do one("GET", "a") end
    c:close()
    local pids = check.workers()
    table.sort(pids)
    ffi.C.kill(pids[victim + 1], 9)
    for _, one in ipairs(others) do is(one:read(), all) end
    quiet(others)
    closed(list)
end)

check.run()
