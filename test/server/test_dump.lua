-- DUMP and RESTORE: payloads of redis-server 7.0.15, of odd names, and of those that mean harm.
local check = require "check"
local case, is, fails = check.case, check.is, check.fails

-- What it dumped, and what asks for the value.
local theirs = {
    {"\000\195\011@Z\003abca\224K\002\001bc\010\000#\1286\249\226\208\199\128",
     ("abc"):rep(30), "GET", "k"},
    {"\000\194\144\238\254\255\010\000(u\222{\019\235(\000",
     "-70000", "GET", "k"},
    {"\018\001\002\195\025@m\017m\000\000\000\004\000\129a\002\001\001\241x\236\003\224Zx\224P\000\001\092"
        .. "\255\010\000x\171_\226&)g:",
     {"a", "1", "-5000", ("x"):rep(90)}, "LRANGE", "k", 0, -1},
    {"\011\020\004\000\000\000\003\000\000\000\254\255\255\255\001\000\000\000p\017\001\000\010\0000R}\248"
        .. "\2041\031;",
     {"-2", "1", "70000"}, "SMEMBERS", "k"},
    {"\002\003\192\003\001a\001b\010\000+\005I\166\154\145\030\246",
     {"3", "a", "b"}, "SMEMBERS", "k"},
    {"\016!!\000\000\000\006\000\129f\002\129v\002\129n\002\012\001\131big\004\244\000\242\005*\001\000\000"
        .. "\000\009\255\010\000%X\147\141\229\155\182\223",
     {"v", "12", "5000000000"}, "HMGET", "k", "f", "n", "big"},
    {"\004\002\001g\192\012\001f\001v\010\000\213\248\184\000n\154Re",
     {"12", "v"}, "HMGET", "k", "g", "f"},
}

case("what Redis dumped is restored, and dumped again", function(c)
    for _, one in ipairs(theirs) do
        is(c("RESTORE", "k", 0, one[1]), "OK")
        is(c(unpack(one, 3)), one[2])
        local ours = c("DUMP", "k")
        is(c("RESTORE", "k", 0, ours, "REPLACE"), "OK")
        is(c(unpack(one, 3)), one[2])
        fails(c("RESTORE", "k", 0, one[1]), "BUSYKEY")
        c("DEL", "k")
    end
end)

case("names and values of any length are dumped", function(c)
    for _, name in ipairs({"", "k", ("k"):rep(300), "\255K"}) do
        c("HSET", name, "", "1", ("f"):rep(300), "2", "f", ("v"):rep(20000))
        local bytes = c("DUMP", name)
        c("DEL", name)
        is(c("RESTORE", name, 100000, bytes), "OK")
        is(c("HMGET", name, "", ("f"):rep(300), "f"), {"1", "2", ("v"):rep(20000)})
        is(c("PTTL", name) > 90000, true)
        is(c("OBJECT", "ENCODING", name), "hashtable")
        c("DEL", name)
    end
end)

-- Found by chance: a sanitizer sees that the score was not read.
case("a member whose score is damaged", function(c)
    local bytes = "\017\029\029\000\000\000\006\000\129c\129\255\255\255nf\005"
        .. "\129a\002\001\001\129b\002\131\050\046\053\004\255\010\000"
    fails(c("RESTORE", "k", 0, bytes .. ("\0"):rep(8)), "ERR Bad data format")
end)

-- A checksum of 0 is not looked at, so all that is wrong comes to the reader.
case("no payload does harm", function(c)
    local state = 12345
    local function random(n)
        state = (state * 16807) % 2147483647
        return state % n + 1
    end
    local good, damaged = 0, 0
    for round = 1, 1500 do
        local bytes = theirs[round % #theirs + 1][1]
        bytes = bytes:sub(1, -9) .. ("\0"):rep(8)
        for _ = 1, random(4) do
            local at = random(#bytes - 10)
            local puts = {string.char(random(256) - 1), "", "\255\255\255\255", bytes:sub(at, at + 5)}
            bytes = bytes:sub(1, at - 1) .. puts[random(4)] .. bytes:sub(at + random(3) - 1)
        end
        local answer = c("RESTORE", "k", 0, bytes, "REPLACE")
        if answer == "OK" then
            good = good + 1
            c("DUMP", "k")
        else
            damaged = damaged + 1
            local kind = answer.error:match("^ERR Bad data") or answer.error:match("^ERR DUMP payload")
            is(kind ~= nil and "refused" or answer.error, "refused")
        end
    end
    is(good > 50 and damaged > 500, true)
    is(c("PING"), "PONG")
end)

case("a digest tells whether values are the same", function(c)
    local function digest(key) return c("DEBUG", "DIGEST-VALUE", key)[1] end
    local makers = {{"SET", "k", "v"}, {"RPUSH", "k", "a", "b"}, {"SADD", "k", "a", "b", 1},
        {"HSET", "k", "f", "v"}, {"ZADD", "k", 1, "a", 2, "b"}, {"XADD", "k", "1-1", "f", "v"}}
    local seen = {}
    for _, make in ipairs(makers) do
        c("DEL", "k", "other")
        c(unpack(make))
        is(seen[digest("k")], nil)
        seen[digest("k")] = true
        c("COPY", "k", "other")
        is(digest("k"), digest("other"))
        local all = c("DEBUG", "DIGEST")
        c("RENAME", "other", "third")
        is(c("DEBUG", "DIGEST") ~= all, true)
        c("RENAME", "third", "other")
        is(c("DEBUG", "DIGEST"), all)
    end
    is(digest("nothing"), ("0"):rep(40))
    c("DEL", "k", "other")
    c("SADD", "k", "a", "b", "c")
    c("SADD", "other", "c", "a", "b")
    is(digest("k"), digest("other"))
end)

check.run()
