-- Commands of sets.
local odd = {"", "-0", "007", "1.5", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    ("x"):rep(300), "\0", "\255K", "e", "l", ("1"):rep(260)}
return {
    "sadd key member[member]...", "sadd key int[int]...", "sadd key int int int int",
    "srem key member[member]...", "srem key int int int",
    "smove key key member",
    "scard key", "sismember key member", "smismember key member[member]...", "smembers key",
    "spop key 100", "spop key {0|value|-1}", "spop nothing [int]", "spop nothing", "spop key 1 2",
    "srandmember key 100", "srandmember key {0|value|-9223372036854775808}", "srandmember nothing [int]",
    "srandmember key 1 2",
    "sinter key[key]...", "sunion key[key]...", "sdiff key[key]...",
    "sinterstore key key[key]...", "sunionstore key key[key]...", "sdiffstore key key[key]...",
    "sintercard 2 key key [LIMIT count]", "sintercard {1|3|value} key[key]... [LIMIT value]",
    "sscan key value [MATCH pattern] [COUNT count]", "sscan key 0 [MATCH pattern] [COUNT {count|100}]",
    "sscan key 0 {MATCH|COUNT|TYPE} [value]",
    "object ENCODING key", "type key", "del key", "expire key seconds", "ttl key", "exists key",
    "set key value", "hset key field value", "rename key key", "copy key key [REPLACE]",
    "config set set-max-intset-entries {0|1|3|5|512}",
    "multi", "exec", "discard",
    makers = {
        member = function()
            local n = math.random(14)
            if n == 1 then return odd[math.random(#odd)] end
            return n < 8 and "m" .. math.random(8) or tostring(math.random(-5, 5))
        end,
    },
    probes = {"TYPE KEY", "OBJECT ENCODING KEY", "SCARD KEY", "SMEMBERS KEY", "EXISTS KEY", "TTL KEY"},
    unordered = {"smembers", "spop", "srandmember", "sinter", "sunion", "sdiff", "sscan", "exec"},
    alike = function(words, a, b)
        local name = words[1]:lower()
        if name == "sscan" then -- cursors of a walk are other numbers, and only known ones are taken
            local going_on = "^%*2\r\n%$%d+\r\n[1-9]"
            return tonumber(words[3]) ~= 0 or a:find(going_on) or b:find(going_on)
        end
        if name == "spop" then return a:sub(1, 1) ~= "-" and b:sub(1, 1) ~= "-" and "end" end
        if name == "srandmember" then return #words == 2 or (tonumber(words[3]) or 0) < 100 end
        if name == "exec" then return a:match("^%*%d+") == b:match("^%*%d+") and "end" end -- one may be in it
        if name == "config" then return b:find("must be between", 1, true) end -- bytes of 2^63 and more
        if name ~= "ttl" then return false end -- seconds pass
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= 1
    end,
}
