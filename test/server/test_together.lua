-- Commands that come together are run together: their answers are those of one after the other.
local check = require "check"
local resp = require "resp"
local case, is = check.case, check.is

local function any(list) return list[math.random(#list)] end

local makers = {
    function(k) return {any({"LPUSH", "RPUSH"}), k, "v" .. math.random(9)} end,
    function(k) return {any({"LPUSH", "rpush"}), k, "a", "b"} end,
    function(k) return {any({"LPOP", "RPOP", "lpop"}), k} end,
    function(k) return {any({"LPOP", "RPOP"}), k, tostring(math.random(-1, 3))} end,
    function(k) return {any({"LLEN", "GET", "LPUSH"}), k} end,
    function(k) return {"SET", k, "x"} end,
    function(k) return {"HSET", "h" .. k, any({"f", "g", ""}), "v" .. math.random(99)} end,
    function(k)
        return {any({"HSET", "hset", "HMSET"}), "h" .. k, "f" .. math.random(9), "x", any({"f", "n"}), "y"}
    end,
    function(k)
        return {any({"HSET", "HDEL", "HSET"}), any({"h", ""}) .. k, "f" .. math.random(9), any({"z", "y"})}
    end,
    function(k) return {any({"SADD", "SADD", "SREM"}), any({"s", "s", ""}) .. k, math.random(9) .. ""} end,
    function(k) return {"SADD", "s" .. k, "m" .. math.random(20), any({"m", "", "1"})} end,
    function(k)
        local key = any({"z", "z", "z", ""}) .. k
        return {"ZADD", key, any({"1", "2.5", "-inf", "1e3"}), "m" .. math.random(9)}
    end,
    function(k) return {"ZADD", "z" .. k, any({"1", "nx", "x"}), any({"3", "4"}), any({"a", "b"})} end,
    function(k)
        return {any({"ZADD", "ZREM"}), "z" .. k, any({"1", "nx", "m2", "nan"}), any({"m1", "m3"})}
    end,
    function(k)
        return {any({"ZRANK", "ZRANK", "ZREVRANK", "zrank"}), any({"z", "z", "z", ""}) .. k,
            any({"m1", "m2", "m3", "a", "", ("long"):rep(80)})}
    end,
    function(k) return {"ZRANK", "z" .. k, any({"m1", "m2"}), any({"m1", "WITHSCORE"})} end,
    function(k) return {any({"ZRANGE", "ZREVRANGE"}), "z" .. k, "0", "-1", "WITHSCORES"} end,
    function(k) return {any({"HLEN", "HVALS"}), "h" .. k} end,
    function(k) return {any({"SCARD", "SMEMBERS"}), "s" .. k} end,
    function(k) return {"DEL", k} end,
    function(k) return {"LRANGE", k, "0", "-1"} end,
    function(k) return {"EXPIRE", k, any({"100", "0", "x"})} end,
    function(k) return {"MULTI", k} end,
    function(k) return {"RPUSHX", k, "y"} end,
    function(k) return {any({"INCR", "incr"}), "n" .. k} end,
    function(k) return {any({"INCR", "DECR", "DECR"}), any({"n", "n", "n", ""}) .. k} end,
    function(k) return {any({"INCRBY", "DECRBY"}), "n" .. k, any({"1", "7", "0", "1000000000000"})} end,
    function(k)
        return {any({"INCRBY", "DECRBY"}), "n" .. k, any({"-3", "3", "x", "9223372036854775807",
            "-9223372036854775808"})}
    end,
    function(k) return {"SET", "n" .. k, any({"9223372036854775790", "-9223372036854775805", "5", " 1"})} end,
    function(k) return {any({"GET", "STRLEN"}), "n" .. k} end,
}

-- Runs of one command about one key, as a program makes them.
local function commands()
    local t = {}
    while #t < 70 do
        local make, key = any(makers), "k" .. math.random(3)
        for _ = 1, any({1, 1, 2, 5, 40}) do t[#t + 1] = make(key) end
    end
    return t
end

case("a pipeline is answered as one command after the other", function(c)
    local other = check.connect()
    other("SELECT", "1")
    math.randomseed(16)
    for _ = 1, 60 do check.alike(c, other, commands()) end
    other:close()
end)

case("ranks in a large set that are asked for in a pipeline are counted as single ones are", function(c)
    local add, ask = {"ZADD", "z"}, {}
    for i = 1, 3000 do
        add[#add + 1] = tostring(math.floor(i / 3))
        add[#add + 1] = "m" .. i
    end
    c(unpack(add))
    local bytes = ""
    for i = 1, 3001, 7 do
        ask[#ask + 1] = i
        bytes = bytes .. resp.encode("ZRANK", "z", "m" .. i)
    end
    c("CONFIG", "RESETSTAT")
    c:send(bytes)
    local ranks = {}
    for k in ipairs(ask) do ranks[k] = c:read() end
    local hits = c("INFO", "stats"):match("keyspace_hits:(%d+)")
    is(hits, tostring(#ask))
    is(c("INFO", "commandstats"):match("cmdstat_zrank:calls=(%d+)"), tostring(#ask))
    local all = c("ZRANGE", "z", "0", "-1")
    local at = {}
    for rank, name in ipairs(all) do at[name] = rank - 1 end
    for k, i in ipairs(ask) do is(ranks[k], at["m" .. i] or resp.null) end
end)

-- What a pipeline says of all members' ranks, in an order that is not theirs, is where they are.
local function ranks_are_right(c)
    local all = c("ZRANGE", "z", "0", "-1")
    local bytes, asked = {}, {}
    for i = 1, #all do
        asked[i] = (i * 7919) % #all + 1 -- 7919 is a prime
        bytes[i] = resp.encode("ZRANK", "z", all[asked[i]])
    end
    c:send(table.concat(bytes))
    for i = 1, #all do is(c:read(), asked[i] - 1) end
end

-- Of 30,000 members the counts have two levels, of 10,000 one.
for _, members in ipairs({10000, 30000}) do
    case("ranks asked for in a pipeline follow what is added to " .. members .. " and removed", function(c)
        for from = 1, members, 2000 do
            local add = {"ZADD", "z"}
            for i = from, from + 1999 do
                add[#add + 1] = tostring(i)
                add[#add + 1] = "m" .. i
            end
            c(unpack(add))
        end
        ranks_are_right(c)
        for i = 1, 400 do c("ZREM", "z", "m" .. i) end -- of one level the first part has none then
        ranks_are_right(c)
        for i = 1, 900 do c("ZADD", "z", tostring(5000 + i / 1000), "new" .. i) end
        for i = 1, 200 do c("ZADD", "z", tostring(-i), "m" .. i) end
        ranks_are_right(c)
    end)
end

case("two that push in pipelines lose nothing", function(c)
    local other, bytes = check.connect(), ("RPUSH l x\r\n"):rep(2000)
    bytes = bytes:gsub("RPUSH l x\r\n", "*3\r\n$5\r\nRPUSH\r\n$1\r\nl\r\n$1\r\nx\r\n")
    for _ = 1, 5 do
        c:send(bytes)
        other:send(bytes)
        for _ = 1, 2000 do
            assert(type(c:read()) == "number")
            assert(type(other:read()) == "number")
        end
    end
    is(c("LLEN", "l"), 20000)
    other:close()
end)

case("clients that count one key in pipelines of all workers lose nothing", function(c)
    local clients = check.spread(4)
    local bytes = resp.encode("INCR", "n"):rep(40) .. resp.encode("INCRBY", "n", "2"):rep(3)
    for _ = 1, 50 do
        for _, one in ipairs(clients) do one:send(bytes) end
        for _, one in ipairs(clients) do
            local last = 0
            for _ = 1, 43 do
                local n = one:read()
                assert(n > last, "it counts upwards")
                last = n
            end
        end
    end
    is(c("GET", "n"), tostring(4 * 50 * 46))
end)

case("a pipeline is refused what one command is", function(c)
    c("CONFIG", "SET", "min-replicas-to-write", "1")
    for _, words in ipairs({{"INCR", "n"}, {"HSET", "h", "f", "1"}, {"SADD", "s", "a"}}) do
        c:send(resp.encode(unpack(words)):rep(8))
        for _ = 1, 8 do check.fails(c:read(), "NOREPLICAS") end
    end
    c("CONFIG", "SET", "min-replicas-to-write", "0")
    is(c("DBSIZE"), 0)
end)

case("what is too much for one transaction is run one by one", function(c)
    local value = ("v"):rep(6 * 1024 * 1024)
    c:send(resp.encode("RPUSH", "l", value):rep(14))
    for i = 1, 14 do is(c:read(), i) end
    is(c("LLEN", "l"), 14)
end)

check.run()
