-- MULTI, EXEC, WATCH, between commands of strings and keys: mostly in order, now and then not.
return {
    "multi", "multi", "multi", "exec", "exec", "exec", "discard", "unwatch", "watch key [key]...",
    "watch key", "exec value", "multi value", "discard value", "watch", "nope key", "client nope", "get",
    "set key", "ping", "echo value", "select db", "select 0", "hello {2|3}", "get key", "set key value",
    "set key value", "mset key value key value", "incr key", "append key value", "del key",
    "rename key key", "copy key key", "expire key seconds", "persist key", "exists key key", "mget key key",
    "flushdb", "move key db", "swapdb db db", "type key", "dbsize", "setrange key count value",
    "incrbyfloat key float", "post x",
    "getset key value", "object nope key",
    probes = {"EXEC", "SELECT 0", "GET KEY"},
    alike = function(_, a, b) -- HELLO tells the number of the connection
        return a:gsub("(id\r\n):%d+", "%1") == b:gsub("(id\r\n):%d+", "%1")
    end,
}
