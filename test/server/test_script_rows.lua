-- The same script again and again in a pipeline: answers, errors and ends are those of one after the other.
local check = require "check"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails

local function any(list) return list[math.random(#list)] end

-- Reads once, as those do that are run in a row; what ARGV[1] says is seldom.
local script = [[
    local what, v = ARGV[1], redis.call("get", KEYS[1])
    if what == "number" then return 3.9 end
    if what == "huge" then return -1e300 end
    if what == "nil" then return nil end
    if what == "true" then return true end
    if what == "false" then return false end
    if what == "three" then redis.setresp(3) return false end
    if what == "resp" then redis.setresp(3) return {double = 1.5} end
    if what == "table" then return {v, 1, {"deep"}} end
    if what == "status" then return {ok = "so"} end
    if what == "err" then return {err = "MY own"} end
    if what == "error" then error("no") end
    if what == "type" then return redis.call("get", "hash") end
    if what == "twice" then return {v, redis.call("get", KEYS[1])} end
    if what == "write" then return redis.call("append", "log", ARGV[2]) end
    if what == "select" then redis.call("select", 3) return redis.call("set", "x", 1) end
    if what == "keys" then KEYS[1], KEYS.x, ARGV[7] = "z", 1, 1 return 1 end
    if what == "meta" then setmetatable(KEYS, {__index = error}) return 1 end
    return tostring(KEYS.x) .. tostring(ARGV[7]) .. #KEYS .. #ARGV .. KEYS[1] .. ARGV[2] .. tostring(v)]]
local seldom = {"number", "huge", "nil", "true", "false", "three", "resp", "table", "status", "err", "error",
    "type", "twice", "write", "select", "keys", "meta"}

local function prepare(c)
    for i = 1, 3 do c("SET", "k" .. i, "value" .. i) end
    c("HSET", "hash", "f", "v")
    return c("SCRIPT", "LOAD", script)
end

local function requests(sha, odds)
    local t = {}
    for i = 1, math.random(4, 90) do
        local what = math.random(odds) == 1 and any(seldom) or "usual"
        local how = math.random(40)
        local name = how == 1 and "EVALSHA" or how == 2 and "EVAL_RO" or "EVAL"
        t[i] = {name, name == "EVALSHA" and sha or script, 1, "k" .. math.random(4), what, tostring(i)}
        if how == 3 then t[i] = {"EVAL", script, 2, "k1", "k2", what, "x"} end
        if how == 4 then t[i] = {"GET", "log"} end
    end
    return t
end

for _, protocol in ipairs({"2", "3"}) do
    case("answers are those of one request after the other, RESP" .. protocol, function(c)
        local other = check.connect()
        other("SELECT", "1")
        prepare(other)
        local sha = prepare(c)
        c("HELLO", protocol)
        other("HELLO", protocol)
        for round = 1, 150 do
            check.alike(c, other, requests(sha, round < 30 and 1e9 or any({20, 200, 1e9})))
        end
        other:close()
    end)
end

-- So often that they are run in rows.
local function warm(c, text, ...)
    for _ = 1, 4 do
        c:send(resp.encode("EVAL", text, ...):rep(32))
        for _ = 1, 32 do c:read() end
    end
end

case("RESP3 is asked for by each run anew", function(c)
    local text = "if ARGV[1] == 'three' then redis.setresp(3) end return false"
    c("HELLO", "3")
    warm(c, text, 0, "usual")
    local three, usual = resp.encode("EVAL", text, 0, "three"), resp.encode("EVAL", text, 0, "usual")
    c:send(three:rep(2) .. usual:rep(2) .. three)
    for _, wanted in ipairs({false, false, resp.null, resp.null, false}) do is(c:read(), wanted) end
end)

case("all are counted", function(c)
    local text = "return redis.call('get', KEYS[1])"
    warm(c, text, 1, "k")
    c("CONFIG", "RESETSTAT")
    c:send(resp.encode("EVAL", text, 1, "k"):rep(100))
    for _ = 1, 100 do is(c:read(), resp.null) end
    is(c("INFO", "commandstats"):match("cmdstat_eval:calls=(%d+)"), "100")
    is(c("INFO", "commandstats"):match("cmdstat_get:calls=(%d+)"), "100")
    is(c("INFO", "stats"):match("keyspace_misses:(%d+)"), "100")
    is(c("INFO", "stats"):match("total_commands_processed:(%d+)"), "104")
end)

case("one that does not end keeps nobody else, and can be ended", function(c)
    for _, loop in ipairs({"while true do end", "while true do pcall(redis.call, 'get', 'none') end",
        "return ('a'):rep(40):find(('a*'):rep(40) .. 'b')"}) do
        local text = ("if ARGV[1] == 'on' then %s end return redis.call('get', KEYS[1])"):format(loop)
        local one = check.connect()
        c("SET", "k", "v")
        warm(one, text, 1, "k", "off")
        local usual = resp.encode("EVAL", text, 1, "k", "off")
        local endless = resp.encode("EVAL", text, 1, "k", "on")
        one:send(usual:rep(10) .. endless .. usual:rep(30) .. resp.encode("PING"))
        repeat until c("SCRIPT", "KILL") == "OK"
        for i = 1, 41 do
            local answer = one:read()
            if i == 11 then fails(answer, "ERR Script killed by user") else is(answer, "v") end
        end
        is(one:read(), "PONG")
        one:close()
    end
end)

case("FUNCTION STATS shows the one that runs", function(c)
    local text = "if ARGV[1] ~= '0' then while true do end end return redis.call('get', KEYS[1])"
    local one, bytes = check.connect(), {}
    warm(one, text, 1, "k", "0")
    for i = 1, 20 do bytes[i] = resp.encode("EVAL", text, 1, "k", i == 13 and "13" or "0") end
    one:send(table.concat(bytes))
    local running
    repeat
        running = c("FUNCTION", "STATS")[2]
    until running ~= resp.null
    is(running[4][5], "13")
    repeat until c("SCRIPT", "KILL") == "OK"
    for i = 1, 20 do
        local answer = one:read()
        if i == 13 then fails(answer, "ERR Script killed by user") else is(answer, resp.null) end
    end
end)

case("rows of many clients go on beside each other", function()
    local text = "local n = 0 for i = 1, 3000 do n = n + i % 7 end return redis.call('get', KEYS[1])"
    local clients = check.spread(6)
    clients[1]("SET", "k", "v")
    for _ = 1, 20 do
        for _, one in ipairs(clients) do one:send(resp.encode("EVAL", text, 1, "k"):rep(200)) end
        for _, one in ipairs(clients) do
            for _ = 1, 200 do is(one:read(), "v") end
        end
    end
end)

case("after SCRIPT FLUSH they are what they were", function(c)
    local text = "return redis.call('get', KEYS[1])"
    local sha = c("SCRIPT", "LOAD", text)
    warm(c, text, 1, "k")
    c:send(resp.encode("EVALSHA", sha, 1, "k"):rep(8) .. resp.encode("SCRIPT", "FLUSH") ..
        resp.encode("EVALSHA", sha, 1, "k"):rep(8))
    for _ = 1, 8 do is(c:read(), resp.null) end
    is(c:read(), "OK")
    for _ = 1, 8 do fails(c:read(), "NOSCRIPT") end
end)

check.run()
