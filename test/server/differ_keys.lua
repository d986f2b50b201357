-- Which keys a command has, and what a user may do with them.
return {
    makers = {
        some = function()
            local words = {
                "a", "b", "c", "0", "1", "2", "3", "-1", "GET", "SET", "STORE", "STREAMS", "BY",
                "OVERFLOW", "u8", "COUNT", "", "WEIGHTS", "STOREDIST", "#", "x*", "MIN", "LIMIT",
                "INCRBY",
            }
            return words[math.random(#words)]
        end,
        ofname = function()
            local names = {
                "get", "set", "bitfield", "sort", "sort_ro", "georadius", "georadiusbymember", "xread",
                "xreadgroup", "zunionstore", "zunion", "zinter", "eval", "fcall", "mset", "msetnx",
                "bitop", "blmpop", "bzmpop", "lmpop", "zmpop", "sintercard", "object", "memory",
                "xgroup", "xinfo", "geosearch", "geosearchstore", "copy", "lmove", "blpop", "rename",
                "watch", "del", "publish", "ssubscribe", "ping",
            }
            return names[math.random(#names)]
        end,
        option = function()
            local words = {"STREAMS", "STREAMS", "COUNT", "BLOCK", "GROUP", "NOACK", "KEYS", "KEYS", "AUTH",
                "AUTH2"}
            return words[math.random(#words)]
        end,
        emptyword = function() return "" end,
        someone = function() return "u" .. math.random(5) end,
    },
    before = function(c)
        c("ACL", "SETUSER", "u1", "on", "nopass", "%R~a*", "%W~b*", "+@all")
        c("ACL", "SETUSER", "u2", "on", "nopass", "~a", "+@read")
        c("ACL", "SETUSER", "u3", "on", "nopass", "~*", "+@all", "-@dangerous", "(%W~c +set)")
        c("ACL", "SETUSER", "u4", "on", "nopass", "resetkeys", "+@write")
        c("ACL", "SETUSER", "u5", "on", "nopass", "%RW~b", "+@all", "resetchannels", "&c*")
    end,
    "command getkeys ofname some some some[some]...",
    "command getkeysandflags ofname some some some[some]...",
    "command getkeys ofname some some[some]...",
    "command getkeysandflags ofname some some[some]...",
    "command getkeysandflags bitfield some {GET u8 some|SET u8 some some|OVERFLOW some|some}...",
    "command getkeysandflags migrate h 1 {x|x|emptyword} 0 9 [COPY] [AUTH some] [KEYS some[some]...]",
    "command getkeysandflags ofname some some some some some some some[some]...",
    "command getkeysandflags {xread|xreadgroup} {option|some}... {option|some}... {option|some}... " ..
    "STREAMS [some]...",
    "command getkeys {xread|xreadgroup} STREAMS {option|some}... {option|some}... {option|some}... some",
    "command getkeysandflags migrate h 1 {x|emptyword} {option|some} 9 {option|some}... {option|some}... " ..
    "[KEYS]",
    "acl dryrun someone ofname some some[some]...",
    "acl dryrun someone ofname some some some some some[some]...",
    "acl dryrun someone bitfield some {GET u8 some|SET u8 some some|OVERFLOW some|some}...",
    exact = true,
    alike = function(words, a, b)
        -- Where a number of keys is none, Redis looks at no key, and we look at those that are known.
        return words[1] == "acl" and b == "+OK\r\n" and a:find("has no permissions", 1, true)
    end,
}
