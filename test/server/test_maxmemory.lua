-- maxmemory: what is refused, and which keys make room.
local check = require "check"
local case, is, fails = check.case, check.is, check.fails

local OOM = "OOM command not allowed when used memory > 'maxmemory'."

local function field(c, section, name) return tonumber(c("INFO", section):match(name .. ":(%d+)")) end

local function config(c, ...)
    is(c("CONFIG", "SET", ...), "OK")
end

-- With so many bytes more than there are now, and a policy; afterwards as before.
local function limited(policy, more, f)
    return function(c)
        c("CONFIG", "RESETSTAT")
        config(c, "maxmemory-policy", policy, "maxmemory", field(c, "memory", "used_memory") + more)
        local fine, wrong = pcall(f, c)
        config(c, "maxmemory", 0, "maxmemory-policy", "noeviction")
        if not fine then error(wrong, 0) end
    end
end

-- Set keys p1 to pn of 500 bytes; how many were refused.
local function fill(c, prefix, n, ...)
    local refused = 0
    for i = 1, n do
        local answer = c("SET", prefix .. i, ("x"):rep(500), ...)
        if answer ~= "OK" then
            is(answer, {error = OOM})
            refused = refused + 1
        end
    end
    return refused
end

local function there(c, prefix, n)
    local count = 0
    for i = 1, n do count = count + c("EXISTS", prefix .. i) end
    return count
end

case("noeviction: what takes memory is refused, all else goes on", limited("noeviction", 100000, function(c)
    local refused = fill(c, "k", 600)
    is(refused > 100 and refused < 500, true)
    is({c("GET", "k1") ~= nil, c("DEL", "k1"), c("EXPIRE", "k2", 100)}, {true, 1, 1})
    is(c("EVAL", "return redis.call('EXISTS', 'k2')", 0), 1)
    fails(c("EVAL", "return redis.call('SET', 'k1', 1)", 0), OOM)
    fails(c("CARET.SET", "^oaks", 1), OOM)
    is(c("MULTI"), "OK")
    fails(c("SET", "k1", 1), OOM)
    fails(c("EXEC"), "EXECABORT")
    c("MULTI")
    fails(c("GET", "k1"), OOM)
    fails(c("MULTI"), OOM)
    is(c("DISCARD"), "OK")
    is(field(c, "stats", "evicted_keys"), 0)
    c("FLUSHALL")
    check.wait(function() return c("SET", "k1", 1) == "OK" end)
end))

for _, policy in ipairs {"allkeys-random", "allkeys-lru", "allkeys-lfu"} do
    case(policy .. " makes room among all keys", limited(policy, 200000, function(c)
        is(fill(c, "k", 1500), 0)
        local left = there(c, "k", 1500)
        is(left > 100 and left < 800, true)
        is(field(c, "stats", "evicted_keys"), 1500 - left)
        is(field(c, "memory", "used_memory") < field(c, "memory", "maxmemory") + 8192, true)
    end))
end

for _, policy in ipairs {"volatile-random", "volatile-lru", "volatile-lfu", "volatile-ttl"} do
    case(policy .. " leaves what does not expire", limited(policy, 300000, function(c)
        is(fill(c, "stays", 100), 0)
        is(fill(c, "goes", 1500, "EX", 1000), 0)
        is(there(c, "stays", 100), 100)
        is(there(c, "goes", 1500) < 800, true)
        local refused = 0
        for i = 1, 5 do refused = refused + fill(c, "more" .. i, 300) end
        is(refused > 100, true)
        is({there(c, "stays", 100), there(c, "goes", 1500)}, {100, 0})
    end))
end

case("volatile-ttl takes what expires first", limited("volatile-ttl", 100000, function(c)
    for i = 1, 100 do c("SET", "k" .. i, ("x"):rep(500), "EX", 10000 - i) end
    fill(c, "new", 200)
    local gone = 100 - there(c, "k", 100)
    is(gone > 5, true)
    for i = 1, 100 do is({i, c("EXISTS", "k" .. i)}, {i, i <= 100 - gone and 1 or 0}) end
end))

case("lru keeps what is used, lfu what is used often", function(c)
    config(c, "maxmemory-policy", "allkeys-lru")
    c("SET", "k", 1)
    is(c("OBJECT", "IDLETIME", "k"), 0)
    local payload = c("DUMP", "k")
    c("RESTORE", "idle", 0, payload, "IDLETIME", 1000)
    is(c("OBJECT", "IDLETIME", "idle") >= 1000 and c("OBJECT", "IDLETIME", "idle") < 1010, true)
    c("GET", "idle")
    is(c("OBJECT", "IDLETIME", "idle") < 10, true)
    fails(c("OBJECT", "FREQ", "k"), "ERR An LFU maxmemory policy is not selected")
    config(c, "maxmemory-policy", "allkeys-lfu")
    c("RESTORE", "often", 0, payload, "FREQ", 200)
    is(c("OBJECT", "FREQ", "often"), 200)
    fails(c("OBJECT", "IDLETIME", "k"), "ERR An LFU maxmemory policy is selected")
    for _ = 1, 100 do c("GET", "k") end
    local freq = c("OBJECT", "FREQ", "k")
    is(freq > 5 and freq < 60, true)
    config(c, "maxmemory-policy", "noeviction")
end)

case("lru evicts what was not used for long", limited("allkeys-lru", 100000, function(c)
    c("SET", "x", ("x"):rep(500))
    local payload = c("DUMP", "x")
    for i = 1, 100 do c("RESTORE", "k" .. i, 0, payload, "IDLETIME", i <= 50 and 100000 or 1) end
    config(c, "maxmemory-samples", 10)
    fill(c, "new", 80)
    local old, young = there(c, "k", 50), there(c, "k", 100)
    config(c, "maxmemory-samples", 5)
    is({old, young - old, old < (young - old) / 2}, {old, young - old, true})
end))

case("those who listen are told", limited("allkeys-random", 100000, function(c)
    config(c, "notify-keyspace-events", "Ee")
    local listener = check.connect()
    listener("SUBSCRIBE", "__keyevent@0__:evicted")
    fill(c, "k", 400)
    is(listener:read()[3]:sub(1, 1), "k")
    listener:close()
    config(c, "notify-keyspace-events", "")
end))

case("EXEC is refused that would take memory, when none is left", function(c)
    local other = check.connect()
    c("MULTI")
    c("SET", "a", 1)
    config(other, "maxmemory", 1)
    fails(c("EXEC"), "EXECABORT Transaction discarded because of: " .. OOM)
    config(other, "maxmemory", 0)
    is(c("EXISTS", "a"), 0)
    c("MULTI")
    c("GET", "a")
    config(other, "maxmemory", 1)
    is(#c("EXEC"), 1)
    config(other, "maxmemory", 0)
    other:close()
end)

case("a size of 2^63 and more", function(c)
    for _, size in ipairs {"9223372036854775808", "18446744073709551615"} do
        config(c, "maxmemory", size)
        is(c("CONFIG", "GET", "maxmemory")[2], size)
        is(c("SET", "k", 1), "OK")
    end
    fails(c("CONFIG", "SET", "maxmemory", "-1"), "ERR CONFIG SET failed")
    config(c, "maxmemory", "1gb")
    is(c("CONFIG", "GET", "maxmemory")[2], "1073741824")
    is(c("INFO", "memory"):match "maxmemory_human:(%S+)", "1.00G")
    config(c, "maxmemory", 0)
end)

case("a script with flags that may write is refused before it is run", function(c)
    local other = check.connect()
    c("SET", "filler", ("x"):rep(10000))
    is(c("FUNCTION", "LOAD", [[#!lua name=l
        redis.register_function('writes', function() return 1 end)
        local function two() return 2 end
        redis.register_function{function_name = 'reads', callback = two, flags = {'no-writes'}}
        redis.register_function{function_name = 'may', callback = two, flags = {'allow-oom'}}
        ]]), "l")
    c("MULTI")
    c("FCALL", "writes", "0")
    is(other("CONFIG", "SET", "maxmemory", "1"), "OK")
    fails(c("EXEC"), "EXECABORT Transaction discarded because of: " .. OOM)
    for _, request in ipairs {{"EVAL", "#!lua\nreturn 1", "0"}, {"EVAL", "#!lua\nreturn 1", "x"},
        {"EVAL_RO", "#!lua\nreturn 1", "0"}, {"FCALL", "writes", "0"}, {"FCALL_RO", "writes", "0"}} do
        fails(c(unpack(request)), OOM)
    end
    is({c("FCALL", "reads", "0"), c("FCALL", "may", "0"), c("EVAL", "return 4", "0")}, {2, 2, 4})
    is(c("EVAL", "#!lua flags=no-writes\nreturn 5", "0"), 5)
    fails(c("FCALL", "nothing", "0"), "ERR Function not found")
    is(other("CONFIG", "SET", "maxmemory", "0"), "OK")
    other:close()
    c("FUNCTION", "FLUSH")
end)

check.run()
