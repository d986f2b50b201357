-- SORT, of lists, sets and sorted sets, with patterns.
return {
    "rpush key 3 1 2", "rpush key 10 9 -1.5 7", "rpush key b a c", "sadd key 5 3 4", "sadd key x y z",
    "zadd key 1 c 2 b 3 a", "zadd key 5 1 4 2 3 3", "rpush key int int int", "del key", "set w_1 30",
    "set w_2 20",
    "set w_3 10", "set w_a z", "set w_b y", "del w_1", "hset h_1 f 7 g x", "hset h_2 f 6 g y", "hset h_3 f 5",
    "sort key", "sort key {ASC|DESC}", "sort key ALPHA [{ASC|DESC}]", "sort key LIMIT index index",
    "sort key ALPHA LIMIT int int", "sort key BY w_* [ALPHA] [{ASC|DESC}] [GET #]",
    "sort key BY h_*->f GET # GET h_*->g",
    "sort key {BY nosort BY w_*|BY w_* BY nosort}", "sort key GET w_* [GET #] [ALPHA]",
    "sort key BY nosort [DESC] GET w_* [LIMIT count count]",
    "sort key ALPHA STORE key", "sort key BY w_* ALPHA GET w_* STORE key", "sort key LIMIT int int STORE key",
    "sort_ro key [ALPHA] [{ASC|DESC}]", "sort_ro key STORE key", "sort key GET nostar ALPHA",
    "sort key BY *->f ALPHA",
    "sort key GET", "sort key BY", "sort key LIMIT 1", "sort key LIMIT a b", "sort key NOPE",
    "sort key GET h_*->",
    "sort zz BY nosort", "zadd zz 3 a 1 b 2 c", "sort zz BY nosort DESC GET # LIMIT count count",
    "sort zz BY nosort STORE key",
    "set key value", "expire key 1000",
    probes = {"TYPE KEY", "LRANGE KEY 0 -1", "LRANGE w_1 0 -1"},
    -- Elements of the same weight, and sets that are not sorted, have no order.
    alike = function(words, a, b, what)
        local function bag(s)
            local t = {}
            for line in s:gmatch("[^\n]+") do t[#t + 1] = line end
            table.sort(t)
            return table.concat(t, "\n")
        end
        local line = table.concat(words, " "):lower()
        -- Redis compares texts up to a NUL byte, and what is stored as a whole
        local cut = line:find(" alpha", 1, true) and a:find("\0", 1, true)
        if not cut and not line:find(" by ", 1, true) then return false end
        -- In a script of RESP3 an answer ends at its first null.
        if what:find("setresp(3)", 1, true) and line:find(" get ", 1, true) then return true end
        return line:find(" limit ", 1, true) or line:find(" store ", 1, true) or bag(a) == bag(b)
    end,
}
