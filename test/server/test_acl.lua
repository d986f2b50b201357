-- Users: the same for all workers.
local check = require "check"
local case, is, fails = check.case, check.is, check.fails

local function gone(one) return not pcall(one, "PING") end

case("a user may do what its rules say, on all workers", function(c)
    is(c("ACL", "SETUSER", "u", "on", ">p", "~a*", "%R~r*", "&c*", "+@all", "-config", "+config|get"), "OK")
    is(c("ACL", "WHOAMI"), "default")
    local list = check.spread(4)
    for _, one in ipairs(list) do
        fails(one("AUTH", "u", "wrong"), "WRONGPASS invalid username-password pair or user is disabled.")
        is(one("AUTH", "u", "p"), "OK")
        is(one("ACL", "WHOAMI"), "u")
        is(one("SET", "a1", "1"), "OK")
        fails(one("GET", "b"), "NOPERM this user has no permissions to access one of the keys used")
        fails(one("SET", "r1", "1"), "NOPERM this user has no permissions to access one of the keys")
        is(one("EXISTS", "r1"), 0)
        fails(one("CONFIG", "SET", "hz", "1"), "NOPERM this user has no permissions to run the 'config|set'")
        is(#one("CONFIG", "GET", "hz"), 2)
        fails(one("PUBLISH", "d", "1"), "NOPERM this user has no permissions to access one of the channels")
        one("MULTI")
        fails(one("GET", "b"), "NOPERM")
        fails(one("EXEC"), "EXECABORT")
        one("SUBSCRIBE", "cx")
    end
    is(c("ACL", "SETUSER", "u", "resetchannels", "&d*"), "OK")
    for _, one in ipairs(list) do is(gone(one), true) end
    for i = 1, 4 do
        list[i] = check.connect()
        list[i]("AUTH", "u", "p")
    end
    is(c("ACL", "DELUSER", "u", "nobody"), 1)
    for _, one in ipairs(list) do is(gone(one), true) end
end)

case("clients that may not listen any more are gone when that is answered, on all workers", function(c)
    for _, take in ipairs{{"SETUSER", "ear", "resetchannels"}, {"DELUSER", "ear"}} do
        for _ = 1, 10 do
            is(c("ACL", "SETUSER", "ear", "on", "nopass", "resetchannels", "&foo:1", "+@all"), "OK")
            local all = check.spread(#check.workers())
            for _, one in ipairs(all) do
                one("AUTH", "ear", "any")
                is(one("CLIENT", "SETNAME", "deathrow"), "OK")
                one("SUBSCRIBE", "foo:1")
            end
            is(select(2, c("CLIENT", "LIST"):gsub("name=deathrow", "")), #all)
            c("ACL", unpack(take))
            is(c("CLIENT", "LIST"):find("deathrow", 1, true), nil)
            for _, one in ipairs(all) do one:close() end
        end
    end
end)

case("selectors, first arguments, dry runs", function(c)
    c("ACL", "SETUSER", "v", "on", "nopass", "+get", "~a", "(+set ~b)", "+select|1", "+multi", "+exec")
    local one = check.connect()
    is(one("AUTH", "v", "anything"), "OK")
    is(one("GET", "a"), require("resp").null)
    is(one("SET", "b", "1"), "OK")
    fails(one("SET", "a", "1"), "NOPERM this user has no permissions to access one of the keys")
    fails(one("GET", "b"), "NOPERM this user has no permissions to access one of the keys")
    is(one("SELECT", "1"), "OK")
    fails(one("SELECT", "2"), "NOPERM this user has no permissions to run the 'select' command")
    is(c("ACL", "DRYRUN", "v", "GET", "a"), "OK")
    is(c("ACL", "DRYRUN", "v", "GET", "b"), "This user has no permissions to access the 'b' key")
    c("ACL", "DELUSER", "v")
    is(gone(one), true)
end)

case("where SORT stores is a key that it writes", function(c)
    local refused = "NOPERM this user has no permissions to access one of the keys"
    c("ACL", "SETUSER", "v", "on", "nopass", "+sort", "%R~a", "%RW~mine")
    c("RPUSH", "a", "2", "1")
    local one = check.connect()
    is(one("AUTH", "v", "anything"), "OK")
    fails(one("SORT", "a", "STORE", "b"), refused)
    fails(one("SORT", "a", "STORE", "mine", "STORE", "b"), refused) -- the last one counts
    fails(one("SORT", "a", "STORE", "a"), refused)
    is(one("SORT", "a", "STORE", "mine"), 2)
    is(c("EXISTS", "b"), 0)
    is(c("COMMAND", "GETKEYS", "SORT", "a", "LIMIT", "0", "STORE", "STORE", "b"), {"a", "b"})
    fails(c("ACL", "SETUSER", "v\tw"), "ERR Usernames can't contain spaces or null characters")
    c("ACL", "DELUSER", "v")
end)

case("rules that look like the end of others are the same for all workers", function(c)
    is(c("ACL", "SETUSER", "x", "on", "nopass", "%RW~*", "~k", "+get", "(~a) +set)"), "OK")
    is(c("ACL", "SETUSER", "x", "+del"), "OK")
    c("ACL", "SETUSER", "y", "on", "nopass", "+ping")
    for _, one in ipairs(check.spread(4)) do
        is(one("AUTH", "y", ""), "OK")
        is(one("AUTH", "x", ""), "OK")
        is(one("SET", "a)", "1"), "OK")
        is(one("DEL", "a)"), 1)
        fails(one("SET", "a", "1"), "NOPERM this user has no permissions to access one of the keys")
    end
    c("ACL", "DELUSER", "x", "y")
end)

case("ACL LOG has what all workers refused", function(c)
    c("ACL", "LOG", "RESET")
    c("ACL", "SETUSER", "w", "on", ">p", "~a", "+get")
    local list = check.spread(3)
    for _, one in ipairs(list) do
        one("AUTH", "w", "p")
        one("GET", "b")
        one("SET", "a", "1")
        one("AUTH", "w", "no")
    end
    local log = c("ACL", "LOG")
    is(#log, 3)
    is({log[1][2], log[1][4], log[1][6], log[1][8], log[1][10]}, {3, "auth", "toplevel", "AUTH", "w"})
    is({log[2][2], log[2][4], log[2][8]}, {3, "command", "set"})
    is({log[3][2], log[3][4], log[3][8]}, {3, "key", "b"})
    is({log[2][14]:match(" cmd=(%S+) user=(%S+)")}, {"set", "w"})
    is(#c("ACL", "LOG", "1"), 1)
    is(c("ACL", "LOG", "RESET"), "OK")
    is(#c("ACL", "LOG"), 0)
    for i = 1, 11 do list[1]("GET", "x" .. i) end
    list[1]("GET", "x2") -- the tenth from the end: it is counted, and is the last now
    list[1]("GET", "x1") -- the eleventh: a new entry, as in Redis
    local counts = {}
    for i, entry in ipairs(c("ACL", "LOG", "20")) do counts[i] = entry[2] .. entry[8] end
    is(table.concat(counts, " "), "1x1 2x2 1x11 1x10 1x9 1x8 1x7 1x6 1x5 1x4 1x3 1x1")
    c("ACL", "LOG", "RESET")
    c("ACL", "DELUSER", "w")
end)

case("SORT looks up keys for users that may read all of them", function(c)
    c("MSET", "w_1", "secret", "w_2", "other")
    c("RPUSH", "k", "1", "2")
    c("ACL", "SETUSER", "some", "on", "nopass", "~k*", "+@all")
    c("ACL", "SETUSER", "any", "on", "nopass", "%R~*", "%W~k", "+@all")
    for _, one in ipairs(check.spread(2)) do
        is(one("AUTH", "some", "x"), "OK")
        fails(one("SORT", "k", "GET", "w_*"), "ERR GET option of SORT denied due to insufficient ACL")
        fails(one("SORT_RO", "k", "BY", "w_*"), "ERR BY option of SORT denied due to insufficient ACL")
        fails(one("EVAL", "return redis.call('SORT', 'k', 'GET', 'w_*')", "0"),
            "ERR GET option of SORT denied")
        is(one("SORT", "k", "BY", "nothing", "DESC"), {"2", "1"})
        is(one("AUTH", "any", "x"), "OK")
        is(one("SORT", "k", "GET", "w_*"), {"secret", "other"})
    end
    c("ACL", "DELUSER", "some", "any")
    c("DEL", "k", "w_1", "w_2")
end)

case("ACL LOG counts what many are refused at once, and knows long names apart", function(c)
    c("ACL", "SETUSER", "w", "on", "nopass", "resetkeys", "+@all")
    c("ACL", "LOG", "RESET")
    local list, times = check.spread(8), 60
    for _, one in ipairs(list) do is(one("AUTH", "w", "x"), "OK") end
    for i = 1, times do
        for k, one in ipairs(list) do one:write("GET", "key" .. (i + k) % 8) end
        for _, one in ipairs(list) do fails(one:read(), "NOPERM") end
    end
    local sum, log = 0, c("ACL", "LOG", "100")
    for _, entry in ipairs(log) do sum = sum + entry[2] end
    is({#log, sum}, {8, times * #list})
    c("ACL", "LOG", "RESET")
    for _, n in ipairs{511, 600, 4095, 5000} do
        for last = 1, 2 do list[last]("GET", ("x"):rep(n) .. last) end
        fails(list[3]("AUTH", ("u"):rep(n) .. "1", "x"), "WRONGPASS")
        fails(list[4]("AUTH", ("u"):rep(n) .. "2", "x"), "WRONGPASS")
    end
    is(#c("ACL", "LOG", "100"), 16)
    is(c("ACL", "LOG", "100")[12][8], ("x"):rep(600) .. "1")
    c("ACL", "LOG", "RESET")
    c("ACL", "DELUSER", "w")
end)

case("CARET.M is given by @dangerous, @admin or its name alone", function(c)
    local no = "This user has no permissions to run the 'caret.m' command"
    for _, rules in ipairs{"+@caret", "+@write", "+@slow", "+@all -@dangerous",
        "+@caret +@write +@read +@slow"} do
        local words = {"ACL", "SETUSER", "m", "reset"}
        for word in rules:gmatch("%S+") do words[#words + 1] = word end
        is(c(unpack(words)), "OK")
        is(c("ACL", "DRYRUN", "m", "CARET.M", "a^b"), no)
        for _, rule in ipairs{"+@dangerous", "+@admin", "+caret.m", "+@all"} do
            is(c(unpack(words)), "OK")
            is(c("ACL", "SETUSER", "m", rule), "OK")
            is(c("ACL", "DRYRUN", "m", "CARET.M", "a^b"), "OK")
        end
    end
    c("ACL", "DELUSER", "m")
end)

case("a script is told what its user may not do", function(c)
    local one = check.spread(1)[1]
    c("ACL", "SETUSER", "w", "on", "nopass", "~k", "resetchannels", "+@all", "-get")
    is(one("AUTH", "w", "x"), "OK")
    local function call(...)
        return one("EVAL", "return redis.call(unpack(ARGV))", "0", ...)
    end
    fails(call("GET", "k"), "ERR The user executing the script can't run this command")
    fails(call("SET", "a", "1"), "ERR The user executing the script can't access at least one of the keys")
    fails(call("PUBLISH", "a", "1"), "ERR The user executing the script can't publish to the channel")
    is(call("SET", "k", "1"), "OK")
    c("ACL", "DELUSER", "w")
    c("DEL", "k")
end)

case("requirepass is the password of the default user", function(c)
    c("CONFIG", "SET", "requirepass", "secret")
    is(c("PING"), "PONG") -- it came before
    local one = check.connect()
    fails(one("PING"), "NOAUTH Authentication required.")
    fails(one("HELLO", "3"), "NOAUTH HELLO must be called with the client already authenticated, " ..
        "otherwise the HELLO AUTH <user> <pass> option can be used")
    fails(one("AUTH", "wrong"), "WRONGPASS")
    is(one("AUTH", "secret"), "OK")
    is(one("AUTH", "default", "secret"), "OK")
    is(one("PING"), "PONG")
    is(c("CONFIG", "SET", "requirepass", ""), "OK")
    fails(c("AUTH", "x"), "ERR AUTH <password> called without any password configured for the default user.")
end)

case("what a user may is said in the categories that Redis says it in", function(c)
    c("ACL", "SETUSER", "u", "allcommands", "-@slow")
    c("ACL", "SETUSER", "u", "+@pubsub", "-@read", "+select", "-get")
    local t = c("ACL", "GETUSER", "u")
    local wanted = "+@all -@read -@scripting -@admin -@blocking -@connection "
    is(t[6]:sub(1, #wanted), wanted)
    c("ACL", "DELUSER", "u")
end)

case("EXEC says of a command that was queued that rights have changed since", function(c)
    c("ACL", "SETUSER", "u", "on", "nopass", "+@all", "~*", "&*")
    local other = check.connect()
    other("AUTH", "u", "x")
    other("MULTI")
    for _, words in ipairs({{"ACL", "SETUSER", "u", "-get", "resetkeys", "~a", "resetchannels", "-acl|cat"},
            {"GET", "a"}, {"SET", "b", "1"}, {"SPUBLISH", "x", "y"}, {"ACL", "CAT"}, {"SET", "a", "1"}}) do
        is(other(unpack(words)), "QUEUED")
    end
    local t = other("EXEC")
    local changed = "NOPERM ACLs rules changed between the moment the transaction was accumulated and the " ..
        "EXEC call. This command is no longer allowed for the following reason: no permission to "
    fails(t[2], changed .. "execute the command or subcommand")
    fails(t[3], changed .. "touch the specified keys")
    fails(t[4], changed .. "access one of the channels used as arguments to the command")
    fails(t[5], changed .. "execute the command or subcommand")
    is(t[6], "OK")
    other:close()
    c("ACL", "DELUSER", "u")
end)

check.run()
