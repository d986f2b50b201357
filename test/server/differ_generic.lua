-- Commands of keys, whatever their type.
return {
    "set key value [EX seconds]",
    "set key value",
    "del key[key]...",
    "unlink key",
    "exists key[key]...",
    "touch key key",
    "type key", "expire key {seconds|never} [NX|XX|GT|LT]", "expire key seconds {NX|XX|GT|LT} {NX|XX|GT|LT}",
    "pexpire key seconds000 [NX|XX|GT|LT]", "expireat key {future|past} [NX|XX|GT|LT]",
    "pexpireat key future000 [NX|XX|GT|LT]", "ttl key", "expiretime key", "pexpiretime key", "persist key",
    "rename key key",
    "renamenx key key",
    "copy key key [DB db] [REPLACE]",
    "move key db",
    "select db",
    "keys pattern",
    "dbsize",
    "flushdb [SYNC|ASYNC]",
    "swapdb db db",
    "object {ENCODING|REFCOUNT|FREQ} key",
    "get key",
    "mset key 1 key abc",
    "scan 0 COUNT 100 [MATCH pattern] [TYPE string]", "scan value", "echo value", "ping [value]",
    probes = {"GET KEY", "EXPIRETIME KEY", "DBSIZE"},
    unordered = {"keys"}, hidden = {"scan"},
    alike = function(words, a, b) -- time passes
        local name = words[1]:lower()
        if name == "object" and a:sub(1, 1) == ":" and b:sub(1, 1) == ":" then
            return true -- which numbers are shared
        end
        if not name:find("ttl", 1, true) and not name:find("expiretime", 1, true) then return false end
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= (name:sub(1, 1) == "p" and 1000 or 1)
    end,
}
