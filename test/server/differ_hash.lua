-- Commands of hashes.
return {
    "hset key field value[field value]...", "hset key field value", "hset key field int",
    "hmset key field value[field value]...",
    "hsetnx key field value",
    "hget key field", "hget key field",
    "hmget key field[field]...",
    "hdel key field[field]...", "hdel key field field field",
    "hexists key field",
    "hstrlen key field",
    "hlen key",
    "hkeys key", "hvals key", "hgetall key",
    "hincrby key field int", "hincrby key field 9223372036854775800",
    "hincrbyfloat key field float", "hincrbyfloat key field {value|1e300|3.0e-20|-0.1}",
    "hrandfield key 0 [WITHVALUES]", "hrandfield nothing [int] [WITHVALUES]",
    "hrandfield key 100 [WITHVALUES]",
    "hrandfield key value value", "hrandfield key {-9223372036854775808|9223372036854775807} WITHVALUES",
    "hscan key value [MATCH pattern] [COUNT count]", "hscan key 0 [MATCH pattern] [COUNT {count|100}]",
    "hscan key 0 {MATCH|COUNT|TYPE|NOVALUES} [value]",
    "object ENCODING key", "type key", "del key", "expire key seconds", "ttl key", "exists key",
    "set key value", "rename key key", "copy key key [REPLACE]", "append key value",
    "config set hash-max-listpack-entries {0|1|3|512}", "config set hash-max-listpack-value {0|2|10|64}",
    "multi", "exec", "discard",
    probes = {"TYPE KEY", "OBJECT ENCODING KEY", "HLEN KEY", "HGETALL KEY", "EXISTS KEY"},
    unordered = {"hkeys", "hvals", "hgetall", "hscan", "hrandfield", "exec"},
    width = function(words)
        local name, last = words[1]:lower(), words[#words]:lower()
        return (name == "hscan" or name == "hgetall" or last == "withvalues") and 2 or 1
    end,
    alike = function(words, a, b)
        local name = words[1]:lower()
        if name == "hscan" then -- cursors of a walk are other numbers, and only known ones are taken
            local going_on = "^%*2\r\n%$%d+\r\n[1-9]"
            return tonumber(words[3]) ~= 0 or a:find(going_on) or b:find(going_on)
        end
        if name == "hrandfield" then return #words == 2 or (tonumber(words[3]) or 0) < 0 end
        if name == "exec" then return a:match("^%*%d+") == b:match("^%*%d+") end -- as there may be one in it
        if name == "config" then return b:find("must be between", 1, true) end -- bytes of 2^63 and more
        if name == "object" then return b:find("raw", 1, true) end -- after APPEND
        if name ~= "ttl" then return false end -- seconds pass
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= 1
    end,
}
