-- What programs write beside the server that it can't read: it says so, and what to do.
local check = require "check"
local case, is = check.case, check.is

-- The command `caret` with these words, on the server's database; its status.
local function caret(...)
    local words = {}
    for i, word in ipairs {...} do words[i] = "'" .. word:gsub("'", "'\\''") .. "'" end
    local build = os.getenv "CARET_BUILD" or "../../build"
    local command = ("'%s/caret' %s --db '%s/data.caret' >/dev/null"):format(build,
        table.concat(words, " "), os.getenv "SERVE_FOLDER")
    return os.execute(command) / 256
end

local function told(node)
    return {error = ("ERR the value of node %s begins with byte C1, as what the server writes, and is not "
        .. "of the server: SET another, or kill the node with `caret kill`"):format(node)}
end

case("a value that only looks like one of the server's is told with its node", function(c)
    c("SET", "fine", 1)
    for _, bytes in ipairs {"\193", "\193s", "\193zz", "\193\1\1", "\193q\1", "\193h\2" .. ("\1"):rep(20)} do
        is(caret("set", '^redis("wrong")', bytes), 0)
        local wanted = told '^redis("wrong")'
        for _, command in ipairs {{"GET", "wrong"}, {"APPEND", "wrong", 1}, {"DEL", "wrong"},
            {"TYPE", "wrong"}, {"DBSIZE"}, {"KEYS", "*"}, {"EXISTS", "wrong"}, {"RENAME", "wrong", "x"},
            {"RENAME", "fine", "wrong"}, {"EVAL", "return redis.call('GET', 'wrong')", 0}} do
            local got = c(unpack(command))
            if command[1] == "EVAL" then
                check.fails(got, wanted.error)
            else
                is({command[1], got}, {command[1], wanted})
            end
        end
        is({c("GET", "fine"), c("SET", "wrong", "x"), c("GET", "wrong"), c("DBSIZE")}, {"1", "OK", "x", 2})
    end
end)

case("FLUSHDB takes such a value away", function(c)
    is(caret("set", '^redis("wrong")', "\193"), 0)
    is(c("FLUSHDB"), "OK")
    is(c("DBSIZE"), 0)
end)

case("a key that a program overwrote does not stop others from expiring", function(c)
    c("SET", "first", 1, "PX", 100)
    c("SET", "second", 1, "PX", 150)
    is(caret("set", '^redis("first")', "\193"), 0)
    check.wait(function() return caret("data", '^redis("second")') == 1 end) -- 1: it is not there any more
    is(caret("data", "^redisX"), 1)
end)

check.run()
