-- ACL: what the rules of a user say, and what that user may do.
--
-- Known differences, which are left: a first argument that has a space ("+select|a b" as one argument) is
-- refused, because no line of a file can say it; in GETUSER and LIST single commands come in the order of
-- their names; "%R" without a pattern is refused; where EXEC deletes the connection's own user, Redis ends it
-- without a whole answer.
local rule = "{on|off|nopass|resetpass|reset|allkeys|resetkeys|allchannels|resetchannels|allcommands|" ..
    "nocommands|" ..
    "clearselectors|sanitize-payload|skip-sanitize-payload|+@category|-@category|+@category|" ..
    "-@category|+name|-name|" ..
    "+name|-name|~glob|~glob|%R~glob|%W~glob|%RW~glob|&glob|>secret|<secret|~*|&*|+@all|-@all|" ..
    "selector|strange}"
local request = "{get key|set key value|mset key value key value|copy key key|publish channel value|" ..
    "config get maxmemory|config set maxmemory 0|select count|" ..
    "object encoding key|sort key BY field STORE key|lpush key value|lrange key 0 -1|" ..
    "eval return 1 key key|" ..
    "getdel key|get key EX|xread STREAMS key key 0 0|acl whoami|client getname|ping|nope|" ..
    "name key value|multi|" ..
    "bitop and key key key|smove key key value|hset key field value|zcard key|del key key|exists key|" ..
    "rename key key|sintercard 2 key key|set key value GET|getex key|getex key PERSIST|" ..
    "bitfield key GET u8 0|" ..
    "bitfield key SET u8 0 1|spublish channel value|pubsub channels}"

local names = {
    "get", "set", "config", "config|get", "config|set", "client", "client|getname", "select|0",
    "select|1", "select", "acl",
    "acl|whoami", "hset", "del", "publish", "subscribe", "nothing", "config|nothing", "config|get|x",
    "GET", "mset",
    "CONFIG|GET", "object", "object|encoding", "get|x", "sort", "eval", "", "|", "get|", "|get", "lpush",
    "ping", "xread",
    "multi", "exec", "flushall", "copy", "pubsub|channels", "memory|usage", "memory",
    "ping|(", "get|" .. ("long"):rep(30), "getx", "config|", "config|GET", "select|0|1",
}
local categories = {
    "read", "write", "string", "hash", "list", "set", "sortedset", "keyspace", "admin", "dangerous",
    "slow", "fast",
    "blocking", "pubsub", "transaction", "scripting", "connection", "geo", "stream", "bitmap",
    "hyperloglog", "all",
    "READ", "nothing", "",
}
local function any(list) return list[math.random(#list)] end
local globs = {"key:1", "key:*", "key:[1-3]", "k*", "a", "*", "", "key:?", "c:*", "c:1", "key:2", "b", "k("}
local function part()
    return any({
        function() return any({"+", "-"}) .. any(names) end,
        function() return any({"+@", "-@"}) .. any(categories) end,
        function() return any({"~", "%R~", "%W~", "%RW~", "%wr~", "&"}) .. any(globs) end,
        function() return any({"allkeys", "allchannels", "resetkeys", "allcommands", "nocommands",
        "resetchannels"}) end,
    })()
end
local makers = {
    user = function() return math.random(20) == 1 and "u\0z" or "u" .. math.random(3) end,
    channel = function() return any({"c:1", "c:2", "c:*", "a", "d"}) end,
    glob = function() return any(globs) end,
    category = function() return any(categories) end,
    secret = function() return any({"p", "q", "", "long password"}) end,
    name = function() return any(names) end,
    strange = function()
        return any({
            "", "(", ")", "()", "( )", "(+get", "~a)", "(~a b)", "(on)", "\0", "%~a", "%RR~a", "%X~a",
            "+", "-", "+@",
            "#abc", "!abc", "~a b", "&a b", ">", "<", "#" .. ("a"):rep(64), "!" .. ("a"):rep(64), "ON",
            "ALLKEYS",
            "(clearselectors)", "(+get) ", "(>p)", "(nopass)", "#" .. ("A"):rep(64), "~\0", "&a\0",
            "+@all\0", "(+get (~a))",
            "(~a) +get)", "(+get\t~a)", "(~a\t+get)", "(+select|a) ~b)",
        })
    end,
    selector = function()
        local t = {}
        for i = 1, math.random(1, 4) do t[i] = part() end
        return "(" .. table.concat(t, any({" ", " ", "  "})) .. ")"
    end,
}
-- Words with a head: "+name" is "+" and what `name` makes.
for head in ("+ - +@ -@ ~ %R~ %W~ %RW~ & > <"):gmatch("%S+") do
    for _, word in ipairs({"name", "category", "glob", "secret"}) do
        makers[head .. word] = function() return head .. makers[word]() end
    end
end

local topic = {
    "acl setuser user " .. rule .. "...", "acl setuser user on nopass " .. rule .. "..." .. rule .. "...",
    "acl setuser user " .. rule, "acl setuser user +@category -@category +name -name",
    "acl setuser user (+name ~glob) (+name %R~glob)", "acl setuser user (+name ~glob",
    "acl setuser user +@all ~* &* -name -name -@category", "acl setuser user -@all selector selector",
    "acl setuser value " .. rule,
    "acl getuser user", "acl getuser user", "acl getuser {value|default}", "acl list", "acl users",
    "acl dryrun user " .. request, "acl dryrun user " .. request, "acl dryrun user " .. request,
    "acl dryrun {value|default} " .. request, "acl dryrun user {subscribe channel channel|" ..
    "psubscribe channel glob}",
    "acl whoami", "acl cat {read|nothing|value}", "acl cat", "acl deluser user[user]",
    "acl deluser {value|default}",
    "acl genpass {0|4097|-1|abc|x x}", "acl log {0|-1|value}", "acl log 100", "acl log [count]",
    "acl log reset", "acl {word|save|load}",
    "auth user secret", "auth user secret", "auth value secret", "auth secret", "reset",
}

-- And the requests themselves: of the user that AUTH made of the connection.
for words in request:sub(2, -2):gmatch("[^|]+") do topic[#topic + 1] = words end
topic.makers = makers
-- Single commands come in the order of a table of hashes there, in the order of their names here.
-- (Two of CLIENT are of later versions.)
local function in_order(bytes)
    bytes = bytes:gsub(" [+-]client|setinfo", ""):gsub(" [+-]client|no%-touch", ""):gsub("%$%d+\r\n", "")
    return (bytes:gsub("%f[+-][+-][^ @)\r][^)\r]*", function(run)
        local t = {}
        for word in run:gmatch("%S+") do t[#t + 1] = word end
        table.sort(t)
        return table.concat(t, " ")
    end))
end
-- What is told of a client in ACL LOG has other addresses, and seconds pass.
local function of_no_client(bytes)
    return (bytes:gsub("%$%d+\r\nid=[^\r]*",
    "client"):gsub("(age%-seconds\r\n)[$,]?%d*[\r\n]*,?[%d.e-]+\r", "%1"))
end
-- Categories and commands, but for those of nodes, in any order.
local function lines(bytes)
    bytes = bytes:gsub("^%*%d+\r\n", ""):gsub("%$%d+\r\ncaret[^\r]*\r\n", "")
    local t = {}
    for line in bytes:gmatch("[^\n]*\n") do t[#t + 1] = line end
    table.sort(t)
    return table.concat(t)
end
-- Rules of the commands of nodes, which Redis has not.
local function without_nodes(bytes)
    return (bytes:gsub(" [+-]@?caret[^ \r]*", ""):gsub("%$%d+\r\n", ""))
end
topic.alike = function(words, a, b)
    local name, sub = words[1]:lower(), words[2] and words[2]:lower()
    -- faults of syntax have other texts
    if name == "eval" then return a:sub(1, 14) == b:sub(1, 14) and #a > 14 end
    if name == "config" then -- bytes of 2^63 and more; and we have parameters of our own
        return #(words[4] or "") > 18 or sub == "get" and (words[3] == "*" or words[4] == "*")
    end
    if name ~= "acl" then return false end
    if sub == "genpass" then return #a == #b end
    if sub == "cat" then return lines(a) == lines(b) end
    if sub == "log" then return of_no_client(a) == of_no_client(b) end
    return sub and in_order(without_nodes(a)) == in_order(without_nodes(b))
end
topic.ends_exec = function(list)
    for _, words in ipairs(list) do
        if words[1]:lower() == "acl" and words[2] and words[2]:lower() == "deluser" then return true end
    end
    return false
end
topic.before = function(c)
    for _, name in ipairs(c("ACL", "USERS")) do
        if name ~= "default" then c("ACL", "DELUSER", name) end
    end
    c("ACL", "LOG", "RESET")
end
return topic
