-- Strings that are changed in place, LCS, HyperLogLog: what the comparison with Redis can't see, or not soon.
local check = require "check"
local case, is, fails = check.case, check.is, check.fails

case("bits of long and of odd keys", function(c)
    for _, name in ipairs({"", "k", ("k"):rep(300)}) do
        is(c("SETBIT", name, 7, 1), 0)
        is(c("GET", name), "\1")
        is(c("PEXPIRE", name, 100000), 1)
        is(c("SETBIT", name, 100000, 1), 0)
        is(c("BITCOUNT", name), 2)
        is(c("BITPOS", name, 1, 1), 100000)
        is(c("PTTL", name) > 90000, true)
        is(c("OBJECT", "ENCODING", name), "raw")
        is(c("BITFIELD", name, "SET", "u8", 0, 193), {1})
        is(c("GETRANGE", name, 0, 0), "\193")
    end
    fails(c("SETBIT", "k", 16 * 1024 * 1024 * 8, 1), "ERR bit offset is not an integer or out of range")
end)

case("a short string that was changed is raw, until it is set", function(c)
    c("SETRANGE", "k", 0, "12")
    is(c("OBJECT", "ENCODING", "k"), "raw")
    c("RENAME", "k", "other")
    c("PEXPIRE", "other", 100000)
    c("PERSIST", "other")
    is(c("OBJECT", "ENCODING", "other"), "raw")
    is(c("INCR", "other"), 13)
    is(c("OBJECT", "ENCODING", "other"), "int")
end)

case("HyperLogLog counts within its error, and sees damage", function(c)
    for i = 1, 20000, 100 do
        local words = {}
        for j = i, i + 99 do words[#words + 1] = "element " .. j end
        c("PFADD", "h", unpack(words))
    end
    local n = c("PFCOUNT", "h")
    is(n > 19400 and n < 20600, true)
    is(c("PFDEBUG", "ENCODING", "h"), "dense")
    is(c("PFSELFTEST"), "OK")
    c("PFADD", "half", "a")
    c("SETRANGE", "half", 16, ("k"):rep(195)) -- 97 runs of two bytes and the first of another
    is(c("PFDEBUG", "DECODE", "half"):sub(-15), "Z:11116 Z:11009")
    c("PFADD", "s", "a", "b")
    c("APPEND", "s", "hello")
    fails(c("PFCOUNT", "s"), "INVALIDOBJ")
    fails(c("PFMERGE", "t", "s"), "INVALIDOBJ")
    is(c("EXISTS", "t"), 0)
    c("SETRANGE", "h", 0, "0123")
    fails(c("PFADD", "h", "x"), "WRONGTYPE")
end)

case("LCS of what would take too much memory is refused", function(c)
    c("SETRANGE", "a", 1000000, "x")
    c("SETRANGE", "b", 1000000, "x")
    fails(c("LCS", "a", "b"), "ERR Insufficient memory")
    is(c("LCS", "a", "c"), "")
end)

check.run()
