-- CLIENT TRACKING: what is answered, and which invalidations come: to the connection that changes keys
-- itself, and to a second one, which hears of all keys, and is what others are redirected to.  Without RESET:
-- Redis remembers what was read before it.
local function any(list) return list[math.random(#list)] end
local function plain(bytes) return (bytes:gsub("(id\r\n):%d+", "%1"):gsub("(redirect\r\n):%d+", "%1")) end
-- The keys that are told of, each once, from one FLUSHALL to the next.
local function told(bytes)
    local parts, keys = {}, {}
    local function add()
        local t = {}
        for key in pairs(keys) do t[#t + 1] = key end
        table.sort(t)
        parts[#parts + 1] = table.concat(t, " ")
        keys = {}
    end
    for message in bytes:gsub(">2\r\n%$10\r\ninvalidate\r\n", "\2"):gmatch("\2([^\2]*)") do
        if not message:match("^%*") then add() end
        for key in message:gmatch("%$%d+\r\n([^\r]+)") do keys[key] = true end
    end
    add()
    return table.concat(parts, "; ")
end
return {
    makers = {prefix = function() return any({"", "k", "key:1", "key:", "other", "key:2"}) end},
    "client tracking on", "client tracking on NOLOOP", "client tracking off", "client tracking on OPTIN",
    "client tracking on OPTOUT [NOLOOP]", "client tracking on BCAST [PREFIX prefix] [NOLOOP]",
    "client tracking on BCAST PREFIX prefix PREFIX prefix", "client tracking on PREFIX prefix",
    "client tracking {on|off|value} [OPTIN] [OPTOUT] [BCAST] [NOLOOP]",
    "client tracking on REDIRECT {SECOND|0|999999}",
    "client tracking on REDIRECT SECOND BCAST [PREFIX prefix]", "client tracking on REDIRECT abc",
    "client caching {yes|no|value}", "client caching yes ; get key ; set key value",
    "client caching no ; mget key key", "client trackinginfo", "client getredir",
    "get key", "get key", "mget key key key", "set key value", "set key value", "incr key",
    "append key value",
    "strlen key", "del key key", "exists key key", "rename key key", "copy key key REPLACE",
    "expire key seconds",
    "expire key never", "persist key", "ttl key", "type key", "rpush key value", "lrange key 0 -1",
    "lpop key",
    "hset key field value", "hget key field", "hgetall key", "sadd key value", "smembers key",
    "sinter key key",
    "zadd key score field", "zrange key 0 -1", "zunion 2 key key", "getex key EX seconds", "getdel key",
    "mset key value key value", "setnx key value", "object encoding key", "touch key",
    "sort key ALPHA STORE key",
    "sort_ro key ALPHA", "bitcount key", "getset key value", "scan 0", "keys *", "dbsize", "randomkey",
    "multi ; set key value ; set key value ; exec", "multi ; set key value ; del key ; exec",
    "multi ; get key ; exec", "flushdb", "flushall", "select {0|1}", "select 0", "hello {2|3}", "hello 3",
    exact = true, messages = true, unordered = {"hgetall", "smembers", "sinter",
    "keys"}, hidden = {"scan", "randomkey"},
    second = function(c)
        c("HELLO", "3")
        c("CLIENT", "TRACKING", "ON", "BCAST")
    end,
    fence = {"SET", "fence", "x"},
    -- What came between two turns of a worker is told together; Redis tells a client of RESP3 of FLUSHALL in
    -- the words of the one that redirects to it.
    alike_heard = function(a, b) return told(a) == told(b) end,
    alike = function(words, a, b)
        local name = words[1]:lower()
        return (name == "hello" or name == "client") and plain(a) == plain(b) or words[2] == "getredir"
    end,
}
