-- What Redis' own tests (test/torture/redis_own.sh) found, that no other test is about.
local check = require "check"
local case, is, fails = check.case, check.is, check.fails

case("DEBUG PROTOCOL has attributes and pushes", function(c)
    is(c("DEBUG", "PROTOCOL", "attrib"), "Some real reply following the attribute")
    fails(c("DEBUG", "PROTOCOL", "push"), "ERR RESP2 is not supported by this command")
    local one = check.connect()
    one("HELLO", "3")
    one:send("DEBUG PROTOCOL attrib\r\nDEBUG PROTOCOL push\r\nECHO end\r\n")
    while not one.input:find("end\r\n", 1, true) do one:more() end
    is(one.input, "|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"
        .. "$39\r\nSome real reply following the attribute\r\n"
        .. ">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n$40\r\nSome real reply following the push reply\r\n"
        .. "$3\r\nend\r\n")
    one:close()
end)

case("DEBUG POPULATE makes what is not there, of any number, in EXEC too", function(c)
    c("SET", "key:1", "old")
    is(c("DEBUG", "POPULATE", 3), "OK")
    is(c("MGET", "key:0", "key:1", "key:2", "key:3"), {"value:0", "old", "value:2", require("resp").null})
    is(c("DEBUG", "POPULATE", 60000, "big", 1000), "OK") -- more than a transaction may have
    is(c("DBSIZE"), 60003)
    is(c("GET", "big:59999"), "value:59999" .. ("\0"):rep(989))
    c("MULTI")
    c("DEBUG", "POPULATE", 2, "few", 3)
    is(c("EXEC"), {"OK"})
    is(c("MGET", "few:0", "few:1"), {"val", "val"})
    fails(c("DEBUG", "POPULATE", -1), "ERR value is out of range, must be positive")
end)

case("parameters are given back as Redis writes them", function(c)
    local old = c("CONFIG", "GET", "shutdown-on-sigterm")[2]
    is(c("CONFIG", "SET", "shutdown-on-sigterm", "now NOSAVE"), "OK")
    is(c("CONFIG", "GET", "Shutdown-On-Sigterm"), {"Shutdown-On-Sigterm", "nosave now"})
    is(c("CONFIG", "GET", "shutdown-on-sigter*"), {"shutdown-on-sigterm", "nosave now"})
    fails(c("CONFIG", "SET", "shutdown-on-sigterm", "save nosave"), "ERR CONFIG SET failed")
    fails(c("CONFIG", "SET", "shutdown-on-sigterm", ""), "ERR CONFIG SET failed")
    is(c("CONFIG", "SET", "shutdown-on-sigterm", old), "OK")
    is(c("CONFIG", "SET", "hz", 100000, "repl-backlog-size", 1, "activerehashing", "YES"), "OK")
    is(c("CONFIG", "GET", "hz")[2], "500")
    is(c("CONFIG", "GET", "repl-backlog-size")[2], "16384")
    is(c("CONFIG", "GET", "activerehashing")[2], "yes")
    fails(c("CONFIG", "SET", "port", "x"),
        "ERR CONFIG SET failed (possibly related to argument 'port') - argument couldn't be parsed")
end)

case("commands that are refused to scripts can be allowed", function(c)
    local call = {"EVAL", "return redis.call('DEBUG', 'PROTOCOL', 'integer')", "0"}
    fails(c(unpack(call)), "ERR This Redis command is not allowed from script")
    is(c("DEBUG", "SET-DISABLE-DENY-SCRIPTS", "1"), "OK")
    is(c(unpack(call)), 12345)
    is(c("DEBUG", "SET-DISABLE-DENY-SCRIPTS", "0"), "OK")
    fails(c(unpack(call)), "ERR This Redis command is not allowed from script")
end)

case("a key that is due is counted until somebody meets it, and then deleted", function(c)
    is(c("DEBUG", "SET-ACTIVE-EXPIRE", "0"), "OK")
    c("PSETEX", "a", "1", "x")
    c("SET", "b", "x")
    local now = c("TIME")
    check.wait(function() return c("TIME")[1] * 1e6 + c("TIME")[2] > now[1] * 1e6 + now[2] + 5000 end)
    is(c("DBSIZE"), 2)
    is(c("DEBUG", "OBJECT", "a"):sub(1, 9), "Value at:")
    is(c("GET", "a"), require "resp".null)
    check.wait(function() return c("DBSIZE") == 1 end)
    is(c("DEBUG", "SET-ACTIVE-EXPIRE", "1"), "OK")
end)

case("RESET is not told to the monitor that sends it", function()
    local one = check.connect()
    is(one("MONITOR"), "OK")
    is(one("RESET"), "RESET")
    is(one("PING"), "PONG")
    one:close()
end)

case("without replicas, what writes is refused where some are wanted", function(c)
    local none = "NOREPLICAS Not enough good replicas to write."
    is(c("CONFIG", "SET", "min-replicas-to-write", "1"), "OK")
    fails(c("SET", "k", "1"), none)
    fails(c("EVAL", "return redis.call('SET', 'k', 1)", "0"), none)
    fails(c("EVAL", "#!lua\nreturn 1", "0"), none)
    is(c("EVAL", "#!lua flags=no-writes\nreturn redis.call('GET', 'k')", "0"), require "resp".null)
    is(c("MULTI"), "OK")
    fails(c("SET", "k", "1"), none)
    fails(c("EXEC"), "EXECABORT")
    is(c("CONFIG", "SET", "min-replicas-to-write", "0"), "OK")
    is(c("SET", "k", "1"), "OK")
end)

case("a script that says nothing of memory does not run where there is none", function(c)
    c("SET", "k", "1")
    is(c("CONFIG", "SET", "maxmemory", "1"), "OK")
    fails(c("EVAL", "#!lua flags=\nreturn 1", "0"), "OOM command not allowed when used memory")
    is(c("EVAL", "#!lua flags=allow-oom\nreturn redis.call('SET', 'k', 2)", "0"), "OK")
    is(c("EVAL", "#!lua flags=no-writes\nreturn redis.call('GET', 'k')", "0"), "2")
    is(c("CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "2"), "OK")
    is(c("DBSIZE"), 0) -- as soon as it was set
    is(c("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0"), "OK")
end)

case("code of a library has redis alone, and half a second", function(c)
    fails(c("FUNCTION", "LOAD", "#!lua name=l\nreturn math.random()"),
        "ERR Error registering functions: ERR user_function:2: "
        .. "Script attempted to access nonexistent global variable 'math'")
    fails(c("FUNCTION", "LOAD", "#!lua name=l\nwhile true do end"),
        "ERR Error registering functions: ERR FUNCTION LOAD timeout")
    is(c("FUNCTION", "LOAD", [[#!lua name="l"
local at_load = redis
redis.register_function('f', function() return math.floor(1.5) end)
redis.register_function('g', function() at_load.register_function('h', function() end) end)]]), "l")
    is(c("FCALL", "f", "0"), 1)
    fails(c("FCALL", "g", "0"), "ERR redis.register_function can only be called on FUNCTION LOAD command")
    is(c("INFO", "memory"):match("number_of_functions:(%d+)"), "2")
    c("FUNCTION", "FLUSH")
end)

case("a script may have 7,999 arguments in a call, and big numbers have one line", function(c)
    local most = "local a = {} for i = 1, 7999 do a[i] = i end return redis.call('LPUSH', 'l', unpack(a))"
    is(c("EVAL", most, "0"), 7999)
    is(c("EVAL", "return {big_number = '123\\r\\n45'}", "0"), "123  45")
end)

case("a user with %W~ may set a key to any word", function(c)
    local one = check.connect()
    c("ACL", "SETUSER", "w", "on", "nopass", "%W~*", "+@all")
    is(one("AUTH", "w", ""), "OK")
    is(one("SET", "k", "get"), "OK")
    fails(one("SET", "k", "v", "GET"), "NOPERM")
    one:close()
    c("ACL", "DELUSER", "w")
end)

case("a password may have any bytes", function(c)
    is(c("CONFIG", "SET", "requirepass", "a\0b"), "OK")
    fails(c("AUTH", "a"), "WRONGPASS")
    is(c("AUTH", "a\0b"), "OK")
    fails(c("CONFIG", "SET", "requirepass", "other", "maxmemory", "much"), "ERR CONFIG SET failed")
    is(c("CONFIG", "GET", "requirepass"), {"requirepass", "a\0b"})
    is(c("CONFIG", "SET", "requirepass", ""), "OK")
    is(c("CONFIG", "GET", "requirepass"), {"requirepass", ""})
end)

case("a client gets nothing of an answer over its limit", function(c)
    c("SET", "k", ("x"):rep(200000))
    is(c("CONFIG", "SET", "client-output-buffer-limit", "normal 100000 0 0"), "OK")
    local one = check.connect()
    one:send("GET k\r\n")
    is(pcall(function() while one:more() do end end) and one.input or "", "")
    one:close()
    is(c("CONFIG", "SET", "client-output-buffer-limit", "normal 0 0 0"), "OK")
    is(#c("GET", "k"), 200000)
end)

case("appendfsync can be changed", function(c)
    is(c("CONFIG", "SET", "appendfsync", "always"), "OK")
    local function syncs() return tonumber(c("INFO", "persistence"):match("log_syncs:(%d+)")) end
    local before = syncs()
    for i = 1, 5 do is(c("SET", "k", tostring(i)), "OK") end
    assert(syncs() >= before + 5, "each answer waits for the disk")
    is(c("CONFIG", "SET", "appendfsync", "everysec"), "OK")
end)

-- Wait until so many clients are stopped.
local function stopped(c, n)
    check.wait(function() return c("INFO", "clients"):find("blocked_clients:" .. n .. "\r", 1, true) end)
end

case("what may write is stopped by a pause of writers, and refused to scripts that read", function(c)
    fails(c("EVAL_RO", "return redis.call('PUBLISH', 'a', 'b')", "0"), "ERR Write commands are not allowed")
    c("PFADD", "h", "x")
    is(c("FUNCTION", "LOAD", [[#!lua name=l
redis.register_function('w', function() return 5 end)
redis.register_function{function_name = 'r', callback = function() return 6 end,
    flags = {'no-writes'}}]]), "l")
    local sha = c("SCRIPT", "LOAD", "return 4")
    local reads = c("SCRIPT", "LOAD", "#!lua flags=no-writes\nreturn 4")
    local queued = check.connect()
    queued("MULTI")
    queued("EVAL", "#!lua\nreturn 7", "0")
    is(c("CLIENT", "PAUSE", "100000", "WRITE"), "OK")
    local list = {}
    for i, request in ipairs {
        {"PFCOUNT", "h"}, {"PUBLISH", "a", "b"}, {"EVAL", "return 2", "0"}, {"EVAL", "#!lua\nreturn 3", "0"},
        {"EVALSHA", sha, "0"}, {"FCALL", "w", "0"}, {"EXEC"}, {"EVAL", "#!python\nreturn 3", "0"},
        {"FCALL", "none", "0"},
    } do
        list[i] = request[1] == "EXEC" and queued or check.connect()
        list[i]:write(unpack(request))
        stopped(c, i)
    end
    for _, one in ipairs(check.spread(3)) do -- each of these says that it writes nothing
        is(one("EVAL", "#!lua flags=no-writes\nreturn 'new'", "0"), "new")
        is(one("EVAL_RO", "return 8", "0"), 8)
        is(one("EVALSHA", reads, "0"), 4)
        is(one("FCALL", "r", "0"), 6)
        one("MULTI")
        one("FCALL", "r", "0")
        is(one("EXEC"), {6})
        one:close()
    end
    stopped(c, #list)
    is(c("CLIENT", "UNPAUSE"), "OK")
    for i, answer in ipairs {1, 0, 2, 3, 4, 5, {7}} do is(list[i]:read(), answer) end
    fails(list[8]:read(), "ERR Unexpected engine in script shebang: #!python")
    fails(list[9]:read(), "ERR Function not found")
    for _, one in ipairs(list) do one:close() end
    c("FUNCTION", "FLUSH")
end)

case("BITFIELD SET of what is there is not a change", function(c)
    local function changes()
        return tonumber(c("INFO", "persistence"):match("rdb_changes_since_last_save:(%d+)"))
    end
    c("BITFIELD", "b", "SET", "i5", "0", "0")
    local before = changes()
    c("BITFIELD", "b", "SET", "i5", "0", "0")
    is(changes(), before)
    c("BITFIELD", "b", "INCRBY", "i5", "0", "0")
    is(changes(), before + 1)
end)

case("FLUSHALL is a save where there are any", function(c)
    local old = c("CONFIG", "GET", "save")[2]
    local function changes(...)
        c(...)
        return tonumber(c("INFO", "persistence"):match("rdb_changes_since_last_save:(%d+)"))
    end
    is(c("CONFIG", "SET", "save", ""), "OK")
    c("SET", "key", "value")
    is(changes("FLUSHALL") >= 2, true)
    is(c("CONFIG", "SET", "save", "3600 1"), "OK")
    c("SET", "key", "value")
    is(changes("FLUSHALL"), 0)
    c("SET", "key", "value")
    is(changes("FLUSHDB"), 2)
    c("MULTI")
    for _, request in ipairs {{"SET", "key", 1}, {"FLUSHALL"}, {"SET", "key", 1}, {"SET", "key", 2}} do
        c(unpack(request))
    end
    is(changes("EXEC"), 2)
    is(c("CONFIG", "SET", "save", old), "OK")
end)

-- Errors in all, those of a first word, and what a command came to: {calls, rejected, failed}.
local function errors(c, word, command)
    local info = c("INFO", "everything")
    local calls, rejected, failed = info:match("cmdstat_" .. command
        .. ":calls=(%d+),[^\r]*rejected_calls=(%d+),failed_calls=(%d+)\r")
    return {info:match("total_error_replies:(%d+)"),
        info:match("errorstat_" .. word .. ":count=(%d+)") or "0", calls, rejected, failed}
end

case("an error is counted once, where it happened", function(c)
    local other = check.connect()
    local function after(word, command, ...)
        other("CONFIG", "RESETSTAT")
        local answer = c(...)
        return errors(c, word, command), answer
    end
    local got, answer = after("ERR", "eval", "EVAL", "return redis.call('select', 99)", "0")
    fails(answer, "ERR DB index is out of range")
    is(got, {"1", "1", "1", "0", "1"})
    is(errors(c, "ERR", "select"), {"1", "1", "1", "0", "1"})
    is(after("ERR", "eval", "EVAL", "redis.pcall('select', 99) return 1", "0"), {"1", "1", "1", "0", "0"})
    is(after("ERR", "set", "EVAL_RO", "return redis.pcall('set', 'a', 1)", "0"), {"1", "1", "0", "1", "0"})
    is(errors(c, "ERR", "eval_ro"), {"1", "1", "1", "0", "1"})
    is(after("MINE", "eval", "EVAL", "return redis.error_reply('MINE text')", "0"), {"1", "1", "1", "0", "1"})
    is(after("ERR", "eval", "EVAL", "return redis.error_reply('')", "0"), {"1", "1", "1", "0", "1"})
    is(after("ERR", "eval", "EVAL", "error('mine')", "0"), {"1", "1", "1", "0", "1"})
    is(after("ERR", "eval", "EVAL", "redis.sha1hex()", "0"), {"1", "1", "1", "0", "1"})
    is(after("ERR", "eval", "EVAL", "a"), {"1", "1", "0", "1", "0"})
    c("MULTI")
    c("AUTH", "a")
    is(after("ERR", "exec", "EXEC"), {"1", "1", "1", "0", "0"})
    is(after("ERR", "exec", "EXEC"), {"1", "1", "1", "0", "1"})
    c("CONFIG", "SET", "maxmemory", "1")
    is(after("OOM", "set", "EVAL", "return redis.call('set', 'a', 1)", "0"), {"1", "1", "0", "1", "0"})
    is(c("CONFIG", "SET", "maxmemory", "0"), "OK")
    local one = check.connect()
    local id = one("CLIENT", "ID")
    c("CONFIG", "RESETSTAT")
    one:write("BLPOP", "l", "0")
    stopped(c, 1)
    is(c("CLIENT", "UNBLOCK", id, "ERROR"), 1)
    fails(one:read(), "UNBLOCKED")
    is(errors(c, "UNBLOCKED", "blpop"), {"1", "1", "1", "0", "1"})
    c("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    c("CONFIG", "RESETSTAT")
    one:write("XREADGROUP", "GROUP", "g", "me", "BLOCK", "0", "STREAMS", "s", ">")
    stopped(c, 1)
    is(c("XGROUP", "DESTROY", "s", "g"), 1)
    fails(one:read(), "NOGROUP")
    is(errors(c, "NOGROUP", "xreadgroup"), {"1", "1", "1", "0", "1"})
    c("CONFIG", "RESETSTAT")
    one:send("*1\r\n%\r\n")
    fails(one:read(), "ERR Protocol error")
    is(errors(c, "ERR", "config|resetstat"), {"1", "1", "1", "0", "0"})
    one:close()
    other:close()
end)

case("a command that waited is in the slow log when it is served", function(c)
    c("CONFIG", "SET", "slowlog-log-slower-than", "0")
    for _, one in ipairs(check.spread(3)) do
        one("CLIENT", "SETNAME", "waits")
        one:write("BLPOP", "l", "0")
        stopped(c, 1)
        c("SLOWLOG", "RESET")
        c("MULTI")
        c("LPUSH", "l", "x")
        c("EXEC")
        is(one:read(), {"l", "x"})
        local last = c("SLOWLOG", "GET", "1")[1]
        is({last[4], last[6]}, {{"BLPOP", "l", "0"}, "waits"})
        one:close()
    end
    c("CONFIG", "SET", "slowlog-log-slower-than", "10000")
    c("SLOWLOG", "RESET")
end)

-- What CONFIG SET answers to a value, and what is there then.
local function becomes(c, name, value, wanted)
    is(c("CONFIG", "SET", name, value), "OK")
    is(c("CONFIG", "GET", name), {name, wanted})
end

local function refused(c, name, value, why)
    fails(c("CONFIG", "SET", name, value), ("ERR CONFIG SET failed (possibly related to argument '%s') - %s")
        :format(name, why))
end

case("odd values of parameters are read as Redis reads them", function(c)
    local title = "template format is invalid or contains unknown variables"
    local wrong = {"", " ", "{", "x{", "{nothing}", "{title}", "{title} {server-mode}", "{PORT}", "{port"}
    for _, text in ipairs(wrong) do
        refused(c, "proc-title-template", text, title)
    end
    for _, text in ipairs {"{{", "x", "{port}", "{title} {listen-addr} {server-mode}"} do
        becomes(c, "proc-title-template", text, text)
    end
    refused(c, "cluster-announce-hostname", "a_b", "Hostnames may only contain alphanumeric characters")
    refused(c, "cluster-announce-hostname", ("h"):rep(256), "Hostnames must be less than 256 characters")
    becomes(c, "cluster-announce-hostname", "a-b.c", "a-b.c")
    becomes(c, "cluster-announce-hostname", "", "")
    becomes(c, "stream-node-max-bytes", "K", "0")
    becomes(c, "stream-node-max-bytes", "4096", "4096")
    becomes(c, "cluster-link-sendbuf-limit", "99999999999999999999", "18446744073709551615")
    becomes(c, "cluster-link-sendbuf-limit", "17179869184gb", "0")
    becomes(c, "maxmemory-clients", "18446744073709551615", "1%")
    refused(c, "maxmemory-clients", "9223372036854775808", "percentage argument must be less or equal to 100")
    becomes(c, "maxmemory-clients", "0", "0")
    refused(c, "latency-tracking-info-percentiles", "1 ", "Invalid latency-tracking-info-percentiles")
    refused(c, "latency-tracking-info-percentiles", "50\0", "Invalid latency-tracking-info-percentiles")
    refused(c, "hash-max-listpack-entries", "3\0", "argument couldn't be parsed into an integer")
    becomes(c, "stream-node-max-bytes", "4096\0", "4096")
    refused(c, "shutdown-on-sigterm", "save  now", "argument(s) must be one of the following: default")
    becomes(c, "oom-score-adj-values", "+0  -1", "0 0 -1")
    becomes(c, "oom-score-adj-values", "0 200 800", "0 200 800")
    local limits = "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"
    refused(c, "client-output-buffer-limit", "", "Wrong number of arguments in buffer limit configuration.")
    refused(c, "client-output-buffer-limit", 'normal 0 0 0"', "Error in hard, soft or soft_seconds setting")
    becomes(c, "client-output-buffer-limit", "normal 1 2 ", (limits:gsub("0 0", "1 2", 1)))
    is(c("ECHO", ("x"):rep(1000)), ("x"):rep(1000)) -- what is in the client's own buffer is not counted
    becomes(c, "client-output-buffer-limit", "normal 0  +0", limits)
end)

case("percentiles are numbers from 0 to 100", function(c)
    local name = "latency-tracking-info-percentiles"
    is(c("CONFIG", "SET", name, "0.0 50.50 100.0"), "OK")
    is(c("CONFIG", "GET", name), {name, "0 50.5 100"})
    fails(c("CONFIG", "SET", name, "10 a"), "ERR CONFIG SET failed (possibly related to argument '" .. name
        .. "') - Invalid latency-tracking-info-percentiles parameters")
    fails(c("CONFIG", "SET", name, "10 100.5"), "ERR CONFIG SET failed (possibly related to argument '"
        .. name .. "') - latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
    is(c("CONFIG", "GET", name), {name, "0 50.5 100"})
    is(c("CONFIG", "SET", name, ""), "OK")
    is(c("CONFIG", "GET", name), {name, ""})
    is(c("CONFIG", "SET", name, "50 99 99.9"), "OK")
end)

case("whether there is room is looked at after a large value", function(c)
    local used = c("INFO", "memory"):match("used_memory:(%d+)")
    is(c("CONFIG", "SET", "maxmemory", used + 100 * 1024, "maxmemory-policy", "volatile-random"), "OK")
    c("SETEX", "goes", "10000", "x")
    c:send("SETBIT large 1600000 0\r\nGETBIT large 0\r\nEXISTS goes\r\n") -- all within a millisecond
    is({c:read(), c:read(), c:read()}, {0, 0, 0})
    is(c("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction"), "OK")
end)

case("small numbers are shared unless each has its own age", function(c)
    c("SET", "a", "1")
    is(c("OBJECT", "REFCOUNT", "a"), 2147483647)
    is(c("CONFIG", "SET", "maxmemory", "1gb", "maxmemory-policy", "allkeys-lru"), "OK")
    is(c("OBJECT", "REFCOUNT", "a"), 1)
    is(c("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction"), "OK")
end)

case("words of SHUTDOWN that collide are refused", function(c)
    for _, words in ipairs{{"SAVE", "NOSAVE"}, {"ABORT", "NOW"}, {"FORCE", "ABORT"}, {"LATER"}} do
        fails(c("SHUTDOWN", unpack(words)), "ERR syntax error")
    end
    fails(c("SHUTDOWN", "ABORT"), "ERR No shutdown in progress.")
end)

case("DEBUG tells what Redis would make of a key", function(c)
    c("RPUSH", "list", "a")
    c("HSET", "hash", "a", "b")
    c("SET", "text", "abc")
    is(c("DEBUG", "QUICKLIST", "list"), "Quicklist structure printed on stdout")
    is(c("DEBUG", "LISTPACK", "hash"), "Listpack structure printed on stdout")
    fails(c("DEBUG", "LISTPACK", "list"), "ERR Not a listpack encoded object.")
    fails(c("DEBUG", "SDSLEN", "none"), "ERR no such key")
    is(c("DEBUG", "SDSLEN", "text"):match("key_sds_len:(%d+).*val_sds_len:(%d+)"), "4")
    fails(c("DEBUG", "HTSTATS-KEY", "hash"), "ERR The value stored at the specified key is not represented")
    is(c("DEBUG", "HTSTATS", "0"):match("elements: (%d+)"), "3")
    fails(c("DEBUG", "HTSTATS", "16"), "ERR Out of range database")
    fails(c("DEBUG", "QUICKLIST-PACKED-THRESHOLD", "5gb"), "ERR argument must be a memory value")
    fails(c("DEBUG", "RELOAD", "x"), "ERR DEBUG RELOAD only supports")
end)

case("DEBUG SEGFAULT and its like kill one worker, and its place is taken", function(c)
    local before = check.info(c, "worker_restarts")
    for i, name in ipairs({"SEGFAULT", "PANIC", "ASSERT", "OOM"}) do
        local one = check.connect()
        is(pcall(one, "DEBUG", name), false)
        one:close()
        check.wait(function()
            local other = check.connect()
            local fine, n = pcall(check.info, other, "worker_restarts")
            other:close()
            return fine and n == before + i
        end)
    end
end)

case("GEOADD NX XX, and DEBUG PAUSE-CRON", function(c)
    fails(c("GEOADD", "g", "XX", "NX", "1", "1", "m"), "ERR syntax error")
    is(c("GEOADD", "g", "NX", "CH", "1", "1", "m"), 1)
    is(c("DEBUG", "PAUSE-CRON", "1"), "OK")
    c("PSETEX", "a", "1", "x")
    local now = c("TIME")
    check.wait(function() return c("TIME")[1] * 1e6 + c("TIME")[2] > now[1] * 1e6 + now[2] + 5000 end)
    is(c("DBSIZE"), 2)
    is(c("DEBUG", "PAUSE-CRON", "0"), "OK")
    check.wait(function() return c("DBSIZE") == 1 end)
end)

check.run()
