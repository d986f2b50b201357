-- Commands of lists that do not wait.
return {
    "lpush key value[value]...", "rpush key value[value]...", "rpush key a b a c a", "lpush key a b c d",
    "rpush key a", "lpushx key value[value]...", "rpushx key value[value]...",
    "lpop key", "rpop key", "lpop key count", "rpop key count", "lpop key index", "rpop key value",
    "llen key", "lindex key index", "lset key index value", "lrange key index index", "lrange key 0 -1",
    "linsert key {before|after} {a|b|c|value} value", "lrem key int {a|b|c|value}", "lrem key 0 a",
    "ltrim key index index", "ltrim key 0 int",
    "lpos key {a|b|c|value} [RANK int] [COUNT count] [MAXLEN count]", "lpos key a COUNT 0",
    "lpos key a RANK index",
    "lpos key {a|value} {COUNT|RANK|MAXLEN|NOPE} int",
    "lmove key key {left|right} {left|right}", "lmove key key {left|right|top} {left|right|top}",
    "rpoplpush key key", "lmpop {1|2|count|int} key [key] {left|right} [COUNT count]",
    "lmpop 2 key key {left|right} [COUNT count] [COUNT count]", "lmpop 1 key {left|right} COUNT int",
    "del key", "expire key seconds", "copy key key REPLACE", "rename key key", "set key value", "type key",
    "object encoding key",
    probes = {"LRANGE KEY 0 -1", "TYPE KEY", "OBJECT ENCODING KEY", "EXPIRETIME KEY"},
    alike = function(words, a, b) -- seconds pass
        if words[1]:lower() ~= "expiretime" then return false end
        local x, y = tonumber(a:match("^:(%d+)")), tonumber(b:match("^:(%d+)"))
        return x and y and math.abs(x - y) <= 1
    end,
}
