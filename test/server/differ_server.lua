-- Commands of connection and server: what they answer, and what they refuse.
local function any(list) return function() return list[math.random(#list)] end end
return {
    -- Parameters that mean nothing here, or nothing to these commands.
    makers = {
        parameter = any({"hz", "HZ", "shutdown-on-sigterm", "shutdown-on-sigint", "lazyfree-lazy-eviction",
            "maxmemory-samples", "repl-timeout", "repl-backlog-size", "repl-backlog-ttl",
            "oom-score-adj-values", "active-defrag-threshold-lower", "active-defrag-ignore-bytes",
            "stream-node-max-bytes", "repl-diskless-load", "loglevel"}),
        setting = any({"YES", "no", "save now", "nosave save", "DEFAULT", "force", "0", "1", "10mb",
            "-1", "x", "", "0 200 800", "5 6", "1 2 99999", "99999999999999999999", "600", "2000",
            "SwapDB", "Notice"}),
    },
    "config set parameter setting", "config set parameter setting", "config get parameter",
    "config set parameter setting parameter setting",
    "ping [value]",
    "echo value",
    "select {db|int|value}",
    "hello {2|3|4|value}",
    "hello 3 {SETNAME field|AUTH value value|word}",
    "client {getname|setname field|setname value|no-evict on|no-evict value|reply value}",
    "client word",
    "client id value",
    "config get {maxmemory|timeout|nothing|hash-max-listpack-entries|proto-max-bulk-len}",
    "config set {timeout int|maxmemory {1mb|10kb|field}|appendonly value|" ..
        "maxmemory-policy {allkeys-lru|value}}",
    "config set {timeout 3 timeout 4|nothing 1|io-threads 2|timeout 0 maxmemory 0 hz value}",
    "config set {dir x|hz value dbfilename x|dbfilename x dbfilename y|nothing 1 dir x|hz 10 hz 11 dir x}",
    "cluster {info|nodes|slots|myid|help|word} [value]", "cluster meet value value", "module {list|word}",
    "readonly", "readwrite", "asking", "command getkeys migrate value 1 {key|value} 0 10 KEYS key key",
    "config word",
    "config get", "command count", "command info {get|zadd|xreadgroup|bitop|mset|del|value}",
    "command getkeys {get key|mset key value key value|sort key|zunionstore key 2 key key|" ..
        "eval field 1 key|memory usage key}",
    "command getkeysandflags {set key value|copy key key|xread COUNT 1 STREAMS key key 1 2}",
    "command getkeys word value",
    "command {getkeys|getkeysandflags} {publish|spublish|ssubscribe|subscribe} key key",
    "command getkeys {zunionstore key 0 key|zunionstore key -1 key|zunion 0 key|zintercard 0 key|" ..
        "eval field 0 key|lmpop 0 key LEFT|bzmpop 1 0 key MIN|sintercard 0 key|fcall field 0|" ..
        "zdiffstore key 3 key}",
    "client pause {-1|value|1 word|1 WRITE value}", "client unblock {value|999999 value|999999 ERROR value}",
    "debug {listpack|quicklist|sdslen|htstats-key} key [value]", "debug htstats {99|value}",
    "debug quicklist-packed-threshold value", "debug replybuffer {resizing|peak-reset-time|word} value",
    "debug leak {value}", "debug mallctl word [value]", "debug mallctl-str word",
    "debug client-eviction [word]", "debug reload word", "failover [abort]",
    "failover [TO value {int|value}] [TIMEOUT {int|value}] [FORCE]",
    "failover TIMEOUT int [TO value int] [word]",
    "lolwut VERSION {value|5|6} {int|value} [value]",
    "post value", "host: value",
    "command getkeys", "command list FILTERBY {ACLCAT hash|PATTERN h*|MODULE x|word}", "command word",
    "debug protocol {string|integer|double|null|array|set|map|verbatim|true|false}",
    "auth value",
    "auth default value",
    "auth value value",
    "wait int 1",
    "time value",
    "word",
    "word value value",
    "get",
    "get key key",
    "object word",
    "object HELPX", "lastsave value", "role", "shutdown value value", "swapdb value value", "bgsave value",
    alone = true, -- SHUTDOWN, and what changes how it is answered
    unordered = {"command"}, hidden = {"bgsave", "bgrewriteaof", "role", "time", "lastsave"},
    -- Numbers of clients differ, and so do pictures and what is told of all commands; sizes of 2^63 bytes
    -- are refused.
    alike = function(words, a, b)
        local sub = words[2] and words[2]:lower()
        if words[1]:lower() == "lolwut" then return a:sub(1, 1) ~= "-" and a:sub(1, 1) == b:sub(1, 1) end
        if words[1]:lower() == "wait" then return a == ":0\r\n" and b == "ended" end -- it waits for years
        if words[1]:lower() == "client" and (sub == "id" or sub == "list") then return true end
        if words[3] == "9223372036854775807" and sub == "pause" then return true end -- its end is over 2^63
        if words[1]:lower() == "config" and sub == "get" and #a > 1000 then return true end
        if sub == "set" and b == "+OK\r\n" and table.concat(words, " "):find "18446744073709551615" then
            return true
        end
        for i = 3, #words do
            local word = words[i]:lower()
            if words[1]:lower() == "command" and (word == "command" or word == "eval") then return true end
        end
        if words[1]:lower() == "command" and (not words[3] or sub == "list") then return true end
        local function nameless(bytes) return (bytes:gsub("(id\r\n):%d+", "%1")) end
        return words[1]:lower() == "hello" and nameless(a) == nameless(b)
    end,
}
