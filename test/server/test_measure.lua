-- MONITOR, SLOWLOG, LATENCY and what INFO counts, over all workers.
local check = require "check"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails

local function closed(clients)
    for _, one in ipairs(clients) do one:close() end
end

-- The next line of a monitor, without time and address.
local function next_line(m) return m:read():match("^%d+%.%d+ (.*)$"):gsub(" unix:[^%]]*%]", "]") end

case("MONITOR sees the commands of all workers", function(c)
    local list = check.spread(4)
    local m = check.connect()
    is(m("MONITOR"), "OK")
    check.wait(function() -- each worker has begun a turn since
        for _, one in ipairs(list) do one("PING") end
        return true
    end)
    for i, one in ipairs(list) do one("SET", "a", i .. '"\n\1') end
    local seen = 0
    while seen < 4 do
        local line = next_line(m)
        if line == ('[0] "SET" "a" "%d\\"\\n\\x01"'):format(seen + 1) then seen = seen + 1 end
    end
    c("SELECT", "2")
    c("MULTI")
    c("SET", "a", "1")
    c("GET", "a")
    c("EXEC")
    c("CONFIG", "GET", "port")
    c("AUTH", "secret")
    is(next_line(m), '[2] "SELECT" "2"')
    is(next_line(m), '[2] "MULTI"')
    is(next_line(m), '[2] "SET" "a" "1"')
    is(next_line(m), '[2] "GET" "a"')
    is(next_line(m), '[2] "EXEC"')
    is(next_line(m), '[2] "AUTH" "(redacted)"')
    closed(list)
    m:close()
end)

case("MONITOR has the commands of all workers in the order of their answers", function()
    local m, list, most = check.connect(), check.spread(4), 1000
    is(m("MONITOR"), "OK")
    for i = 1, most do list[math.random(4)]("ECHO", "number " .. i) end
    local seen = 0
    while seen < most do
        local number = m:read():match('"ECHO" "number (%d+)"$')
        if number then
            seen = seen + 1
            is(number, seen)
        end
    end
    closed(list)
    m:close()
end)

case("a monitor's own commands are told after their answers", function()
    local m = check.connect()
    is(m("MONITOR"), "OK")
    m:send(resp.encode("MONITOR") .. resp.encode("AUTH", "none")) -- the second is not answered
    fails(m:read(), "ERR AUTH <password> called without any password")
    is(next_line(m), '[0] "AUTH" "(redacted)"')
    for words in ("GET a;SET a 1;EVAL a 0;PUBLISH a b"):gmatch("[^;]+") do
        m:send(words .. "\r\n")
        fails(m:read(), "ERR Replica can't interact with the keyspace")
    end
    is(m("MULTI"), "OK")
    is(next_line(m), '[0] "MULTI"')
    is(m("ECHO", "a"), "QUEUED")
    fails(m("GET", "a"), "ERR Replica can't interact with the keyspace")
    fails(m("EXEC"), "EXECABORT")
    is(next_line(m), '[0] "EXEC"')
    is(m("SELECT", "1"), "OK")
    is(next_line(m), '[1] "SELECT" "1"')
    is(m("RESET"), "RESET")
    is(m("GET", "a"), resp.null)
    m:close()
end)

case("MONITOR and SLOWLOG tell no passwords", function(c)
    local m = check.connect()
    local old = c("CONFIG", "GET", "slowlog-log-slower-than")[2]
    is(c("CONFIG", "SET", "slowlog-log-slower-than", "0"), "OK")
    c("SLOWLOG", "RESET")
    is(m("MONITOR"), "OK")
    for _, words in ipairs {
        {"AUTH", "secret"}, {"AUTH", "someone", "secret"},
        {"HELLO", "3", "AUTH", "someone", "secret", "SETNAME", "a"},
        {"MIGRATE", "127.0.0.1", "1", "k", "0", "10", "AUTH", "secret"},
        {"MIGRATE", "127.0.0.1", "1", "k", "0", "10", "COPY", "AUTH2", "someone", "secret", "KEYS", "key"},
        {"ACL", "SETUSER", "someone", ">secret"}, {"ACL", "DELUSER", "none"},
        {"CONFIG", "SET", "masterauth", "secret", "masteruser", "someone"},
        {"CONFIG", "SET", "masterauth", "", "masteruser", ""}
    } do c(unpack(words)) end
    is(c("ACL", "DELUSER", "someone"), 1)
    is(c("ECHO", "end"), "end")
    local all = {}
    repeat
        local line = m:read()
        all[#all + 1] = line
    until line:find('"ECHO" "end"', 1, true)
    for _, entry in ipairs(c("SLOWLOG", "GET", "-1")) do
        if entry[4][2] ~= "DELUSER" then all[#all + 1] = table.concat(entry[4], " ") end
    end
    local text = table.concat(all, "\n")
    is(text:find("secret", 1, true), nil)
    is(text:find("someone", 1, true), nil)
    is(text:find('"AUTH2" "(redacted)" "(redacted)" "KEYS" "key"', 1, true) ~= nil, true)
    is(text:find("SET masterauth (redacted) masteruser (redacted)", 1, true) ~= nil, true)
    is(text:find("SETUSER (redacted) (redacted)", 1, true) ~= nil, true)
    is(c("CONFIG", "SET", "slowlog-log-slower-than", old), "OK")
    m:close()
end)

case("SLOWLOG has the slow commands of all workers", function(c)
    local list = check.spread(3)
    c("CONFIG", "SET", "slowlog-log-slower-than", "0")
    local key = ("k"):rep(150)
    check.wait(function()
        c("SLOWLOG", "RESET")
        for _, one in ipairs(list) do one("CLIENT", "SETNAME", "it") one("SET", key, "v") end
        return c("SLOWLOG", "LEN") >= 6
    end)
    c("CONFIG", "SET", "slowlog-log-slower-than", "10000")
    local found = 0
    for _, e in ipairs(c("SLOWLOG", "GET", "-1")) do
        if e[4][1] == "SET" then
            found = found + 1
            is(e[4], {"SET", ("k"):rep(128) .. "... (22 more bytes)", "v"})
            is(e[6], "it")
        end
    end
    is(found, 3)
    is(#c("SLOWLOG", "GET", "2"), 2)
    fails(c("SLOWLOG", "GET", "-2"), "ERR count should be greater than or equal to -1")
    is(c("SLOWLOG", "RESET"), "OK")
    is(c("SLOWLOG", "LEN"), 0)
    closed(list)
end)

-- What a list answers of the command of each entry, from the last on.
local function commands_of(entries)
    local t = {}
    for i, e in ipairs(entries) do t[i] = e[4][1] end
    return t
end

case("commands of scripts that may take long are measured too", function(c)
    c("RPUSH", "l", "1")
    c("CONFIG", "RESETSTAT")
    c("CONFIG", "SET", "slowlog-log-slower-than", "0")
    c("SLOWLOG", "RESET")
    c("EVAL", "redis.call('keys', '*') redis.call('get', 'x') return redis.call('lrange', 'l', 0, -1)", "0")
    c("CONFIG", "SET", "slowlog-log-slower-than", "10000")
    is(commands_of(c("SLOWLOG", "GET", "3")), {"EVAL", "lrange", "keys"})
    is(c("LATENCY", "HISTOGRAM", "keys")[2][2], 1)
end)

case("what slowlog-max-len cut off does not come back", function(c)
    c("CONFIG", "SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "100")
    for _ = 1, 5 do c("GET", "x") end
    c("CONFIG", "SET", "slowlog-log-slower-than", "10000")
    is(c("SLOWLOG", "LEN") > 4, true)
    c("CONFIG", "SET", "slowlog-max-len", "2")
    is(c("SLOWLOG", "LEN"), 2)
    c("CONFIG", "SET", "slowlog-max-len", "128")
    is(c("SLOWLOG", "LEN"), 2)
    is(commands_of(c("SLOWLOG", "GET")), {"GET", "GET"})
    c("SLOWLOG", "RESET")
end)

case("LATENCY and INFO count what all workers did", function(c)
    local list = check.spread(3)
    c("CONFIG", "RESETSTAT")
    for _, one in ipairs(list) do
        one("SET", "a", "1")
        one("SETRANGE", "a")
        one("LATENCY", "HISTOGRAM", "set")
    end
    local histogram = c("LATENCY", "HISTOGRAM", "set", "nothing")
    is({histogram[1], histogram[2][1], histogram[2][2]}, {"set", "calls", 3})
    local info = c("INFO", "everything")
    is(info:match("cmdstat_set:calls=(%d+)"), "3")
    is(info:match("cmdstat_setrange:calls=0,.-rejected_calls=(%d+)"), "3")
    is(info:match("errorstat_ERR:count=(%d+)"), "3")
    is(info:match("latency_percentiles_usec_set:p50=[%d.]+,p99=[%d.]+,p99.9=[%d.]+\r\n") ~= nil, true)
    c("CONFIG", "SET", "latency-monitor-threshold", "400") -- nothing else takes that long on a busy machine
    is(c("LATENCY", "RESET"), 0)
    c("DEBUG", "SLEEP", "0.41")
    local latest = c("LATENCY", "LATEST")
    is({latest[1][1], latest[1][3] >= 410, #latest[1]}, {"command", true, 4})
    is(#c("LATENCY", "HISTORY", "command"), 1)
    is(c("LATENCY", "GRAPH", "command"):match("^command %- high %d+ ms") ~= nil, true)
    is(c("LATENCY", "RESET", "command"), 1)
    fails(c("LATENCY", "GRAPH", "command"), "ERR No samples available for event 'command'")
    c("CONFIG", "SET", "latency-monitor-threshold", "0")
    is(c("LATENCY", "DOCTOR"):match("^I'm sorry, Dave") ~= nil, true)
    is(c("CONFIG", "RESETSTAT"), "OK")
    is(c("LATENCY", "HISTOGRAM", "set"), {})
    closed(list)
end)

case("each command of a row of a pipeline is measured", function(c)
    for _, name in ipairs({"LPUSH", "SADD", "INCRBY"}) do
        local words = {}
        c("CONFIG", "RESETSTAT")
        c("CONFIG", "SET", "slowlog-log-slower-than", "0")
        c("FLUSHALL")
        c("SLOWLOG", "RESET")
        for i = 1, 20 do words[i] = resp.encode(name, "key", i) end
        c:send(table.concat(words))
        for _ = 1, 20 do c:read() end
        c("CONFIG", "SET", "slowlog-log-slower-than", "10000")
        local seen = {}
        for _, e in ipairs(c("SLOWLOG", "GET", "-1")) do
            if e[4][1] == name then seen[#seen + 1] = e[4][3] end
        end
        for i = 1, 20 do is(seen[i], tostring(21 - i)) end
        local histogram = c("LATENCY", "HISTOGRAM", name:lower())
        is(histogram[2][2], 20)
        is(c("INFO", "commandstats"):match("cmdstat_" .. name:lower() .. ":calls=(%d+)"), "20")
    end
    c("CONFIG", "RESETSTAT")
    c("SLOWLOG", "RESET")
end)

case("INFO tells how long keys live on the average", function(c)
    c("SET", "never", "1")
    is(c("INFO", "keyspace"):match("avg_ttl=(%d+)"), "0")
    c("SET", "a", "1", "PX", 3000000)
    c("SET", "b", "1", "PX", 5000000)
    local keys, expires, ttl = c("INFO", "keyspace"):match("db0:keys=(%d+),expires=(%d+),avg_ttl=(%d+)")
    is({keys, expires}, {"3", "2"})
    is(tonumber(ttl) > 3000000 and tonumber(ttl) <= 4000000, true)
end)

case("MEMORY and LOLWUT answer", function(c)
    c("SET", "a", ("x"):rep(1000))
    is(c("MEMORY", "USAGE", "a") > 1000, true)
    is(tostring(c("MEMORY", "USAGE", "absent")), "null")
    fails(c("MEMORY", "USAGE", "a", "SAMPLES", "-1"), "ERR syntax error")
    is(c("MEMORY", "PURGE"), "OK")
    c("SET", "k", "v")
    local stats, names = c("MEMORY", "STATS"), {}
    for i = 1, #stats, 2 do names[stats[i]] = stats[i + 1] end
    is(#stats, 56) -- as of redis-server with keys in one database
    is({names["keys.count"], names["dataset.percentage"], names["fragmentation.bytes"]}, {2, "100", 0})
    is(names["db.0"], {"overhead.hashtable.main", 0, "overhead.hashtable.expires", 0,
        "overhead.hashtable.slot-to-keys", 0})
    is(c("LOLWUT"):match("^Redis ver%. "), "Redis ver. ")
    check.fails(c("LOLWUT", "VERSION", "x"), "ERR value is not an integer or out of range")
    check.fails(c("REPLICAOF", "host", "65536"), "ERR Invalid master port")
    check.fails(c("REPLICAOF", "host", "6379"), "ERR replication is not supported")
    is(c("REPLICAOF", "no", "one"), "OK")
end)

local function info(c, section)
    local t, n = {}, 0
    for name, value in c("INFO", section):gmatch("([%w_|]+):([^\r]*)") do
        assert(t[name] == nil, name .. " is there twice")
        t[name], n = value, n + 1
    end
    return t, n
end

case("INFO has each field once, and what is done a second and by the processor of all workers", function(c)
    local all, n = info(c, "everything")
    assert(n > 190 and all.used_memory_rss_human:match("^[%d.]+M$"), "fields of Redis")
    local list = check.spread(4)
    check.wait(function()
        for _, one in ipairs(list) do
            for _ = 1, 50 do one("PING") end
        end
        return tonumber(info(c, "stats").instantaneous_ops_per_sec) > 0
            and tonumber(info(c, "cpu").used_cpu_user) + tonumber(info(c, "cpu").used_cpu_sys) > 0
    end)
    local before = info(c, "cpu")
    for _, one in ipairs(list) do -- whichever is asked: it never goes back
        local now = info(one, "cpu")
        assert(tonumber(now.used_cpu_user) >= tonumber(before.used_cpu_user), "a worker's own time")
        before = now
    end
    closed(list)
end)

case("what is looked up to be read is counted, found or not, as Redis counts it", function(c)
    c("RPUSH", "l", "b", "a")
    c("SET", "s", "12")
    c("HSET", "h", "f", "1")
    c("SADD", "t", "m")
    c("ZADD", "z", "1", "m")
    c("XADD", "x", "1-1", "f", "v")
    local function counts(hits, misses, ...)
        c("CONFIG", "RESETSTAT")
        c(...)
        local t = info(c, "stats")
        is((...) .. " " .. t.keyspace_hits .. " " .. t.keyspace_misses, (...) .. " " .. hits .. " " .. misses)
    end
    for words in ([[LLEN l;LINDEX l 0;LRANGE l 0 -1;LPOS l a;SORT l ALPHA;SORT_RO l ALPHA;EXISTS s;TOUCH s
        TYPE z;TTL s;PTTL s;EXPIRETIME s;OBJECT ENCODING h;GET s;STRLEN s;GETRANGE s 0 1;GETEX s;GETSET s 13
        SET s 14 GET;SET s 15 XX GET;HGET h f;HGET h g;HLEN h;SISMEMBER t m;SISMEMBER t n;SCARD t;ZSCORE z m
        ZSCORE z n;ZRANK z m;ZRANK z n;ZCARD z;ZRANGE z 0 -1;XLEN x;XRANGE x - +;XINFO STREAM x
        COPY s copy REPLACE;DUMP s;GET l;LLEN s;HGET s f;SISMEMBER s m;ZRANK s m;XLEN s
        GETDEL s]]):gmatch("[^;\n]+") do
        local t = {}
        for word in words:gmatch("%S+") do t[#t + 1] = word end
        counts(1, 0, unpack(t))
        for i = 2, #t do
            if t[i]:match("^[lshtzx]$") then
                t[i] = "nothing"
                break
            end
        end
        counts(0, 1, unpack(t))
        c("DEL", "nothing")
    end
    c("SET", "s", "1")
    counts(2, 1, "EXISTS", "s", "no", "s")
    counts(1, 1, "ZUNION", "2", "z", "no")
    counts(1, 1, "MGET", "s", "no")
    counts(0, 0, "SET", "s", "1")
    counts(0, 0, "RENAME", "s", "r")
    counts(4, 0, "SCAN", "0", "MATCH", "[rtzx]", "TYPE", "set")
    counts(0, 0, "SPOP", "t", "0")
    c("SADD", "t", "n")
    counts(0, 0, "SPOP", "t", "1")
    counts(1, 0, "SPOP", "t", "2") -- all of it
    c("SADD", "t", "m")
    counts(2, 0, "XREAD", "STREAMS", "x", "0") -- Redis looks twice,
    counts(2, 4, "XREAD", "BLOCK", "1", "STREAMS", "x", "no", "none", "$", "0", "$")
    counts(1, 0, "XREAD", "STREAMS", "t", "0") -- if the request is fine,
    c("XGROUP", "CREATE", "x", "g", "0")
    counts(2, 0, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "x", ">")
    counts(0, 1, "XREADGROUP", "GROUP", "g", "c", "STREAMS", "no", ">")
    c("CONFIG", "RESETSTAT")
    local other = check.connect()
    other:send(resp.encode("XREAD", "BLOCK", "0", "STREAMS", "x", "$"))
    check.wait(function() return info(c, "clients").blocked_clients == "1" end)
    c("XADD", "x", "2-1", "f", "v") -- and no more for one that waited
    is(other:read()[1][1], "x")
    is(info(c, "stats").keyspace_hits, "2")
    other:close()
end)

check.run()
