-- Messages: what subscribers and publishers are answered, and which messages come.  The first connection does
-- all of it, in RESP3 also other commands while it is subscribed; the second hears what it sends, and all
-- notifications.
local function any(list) return list[math.random(#list)] end
local function plain(bytes)
    return (bytes:gsub("(id\r\n):%d+", "%1"):gsub("%d+%-%d+", "ID"))
end
return {
    makers = {
        channel = function() return any({"a", "b", "ab", "news.1", "news.2", "", "x\0y"}) end,
        glob = function() return any({"*", "a*", "news.*", "[ab]", "?", "", "x\0*", "\\a"}) end,
    },
    "subscribe channel[channel]...", "subscribe channel channel", "psubscribe glob[glob]...",
    "psubscribe glob",
    "ssubscribe channel[channel]...",
    "unsubscribe channel[channel]...", "punsubscribe glob[glob]...", "sunsubscribe channel[channel]...",
    "unsubscribe nothing", "punsubscribe nothing", "sunsubscribe nothing",
    "publish channel value", "publish channel value", "publish channel value", "publish {a|b} value",
    "spublish channel value", "spublish channel value",
    "pubsub channels [glob]", "pubsub shardchannels [glob]", "pubsub numsub channel[channel]...",
    "pubsub shardnumsub channel channel", "pubsub numpat", "pubsub word", "pubsub numsub",
    "pubsub channels * a",
    "reset ; multi ; set key value ; publish channel value ; incr key ; publish channel value ; exec",
    "get key",
    "reset ; multi ; publish channel value ; nope ; exec", "multi ; psubscribe glob ; discard",
    "config get notify-keyspace-events", "psubscribe __key*__:*", "subscribe __keyspace@0__:key:1",
    "punsubscribe __key*__:*", "del key key", "set key value", "expire key seconds", "rpush key value",
    "lpop key",
    "rename key key", "incr key", "hset key field value", "hdel key field", "sadd key value", "spop key",
    "zadd key score field", "reset ; zpopmin key", "copy key key", "getdel key", "append key value",
    "setrange key 1 value",
    "move key 1", "persist key", "xadd key * field value", "sort key ALPHA STORE key",
    "sinterstore key key key",
    "zunionstore key 1 key", "lmove key key LEFT RIGHT", "rpoplpush key key", "hincrby key field int",
    "zincrby key score field", "expire key never", "getex key EX seconds", "restore key 0 value",
    "srem key value",
    "smove key key value", "ltrim key 1 0", "lrem key 0 value", "linsert key BEFORE value value",
    "lset key 0 value",
    "hincrbyfloat key field float", "incrbyfloat key float", "setnx key value", "mset key value key value",
    "zremrangebyrank key 0 index", "pfadd key value", "pfmerge key key", "geoadd key 1 1 field",
    "setbit key 7 1",
    "bitop not key key", "xdel key 1-1", "xtrim key MAXLEN 0", "xgroup CREATE key g $ MKSTREAM", "flushdb",
    "reset ; hello 3 ; client reply off ; publish a x ; subscribe channel a ; publish a y ; get key ; " ..
        "client reply on",
    "client reply skip ; subscribe channel", "client reply skip ; publish channel value",
    "reset", "hello {2|3}", "select {0|1}", "select 0", "ping value",
    exact = true, messages = true, unordered = {"pubsub"},
    -- What EXEC sends to its own client stands among its answers in Redis, and comes after them here.
    before = function(c) c("CONFIG", "SET", "notify-keyspace-events", "KEAn") end,
    second = function(c)
        c:write("SUBSCRIBE", "a", "news.1", "fence")
        for _ = 1, 3 do c:read() end
        c:write("PSUBSCRIBE", "__key*__:*", "n*")
        for _ = 1, 2 do c:read() end
        c("SSUBSCRIBE", "b")
    end,
    fence = {"PUBLISH", "fence", "x"},
    alike = function(words, a, b)
        local name = words[1]:lower()
        if name == "spop" then -- any element, after the messages
            local element = "%$%d+\r\n[^\r\n]*\r\n$"
            return a:gsub(element, "") == b:gsub(element, "") and "end"
        end
        return (name == "hello" or name == "reset" or name == "xadd") and plain(a) == plain(b)
    end,
}
