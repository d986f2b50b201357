-- Commands of strings.
return {
    "get key",
    "set key value [NX|XX] [GET] [EX seconds|PX seconds000|EXAT future|PXAT future000|KEEPTTL]",
    "set key value",
    "set key value {EX|PX|EXAT|PXAT} never",
    "set key value EX seconds EX seconds", "getex key PXAT future000 PXAT future000",
    "setnx key value",
    "setex key seconds value",
    "psetex key seconds000 value",
    "setex key never value", "getset key value", "getdel key",
    "getex key [EX seconds|PX seconds000|EXAT future|PXAT future000|PERSIST]", "getex key {EX|PXAT} past",
    "append key value",
    "strlen key",
    "getrange key index index",
    "substr key index index",
    "setrange key count value",
    "setrange key index value",
    "incr key",
    "decr key",
    "incrby key int",
    "decrby key int",
    "incrbyfloat key float", "incrbyfloat key int", "object encoding key",
    "copy key key REPLACE", "rename key key", "persist key",
    "mget key[key]...", "mget key key key", "mset key value[key value]...", "mset key value key value",
    "msetnx key value[key value]...",
    "del key",
    "expire key seconds",
    "ttl key",
    "exists key key",
    "set key 12",
    "set key 9223372036854775806",
    probes = {"GET KEY", "OBJECT ENCODING KEY", "EXPIRETIME KEY"},
    alike = function(words, a, b) -- seconds pass
        if words[1]:lower() ~= "ttl" and words[1]:lower() ~= "expiretime" then return false end
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= 1
    end,
}
