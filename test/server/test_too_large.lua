-- What is too large to be done at once: one error, nothing half done. Large keys that go: one change.
local check = require "check"
local ffi = require "ffi"
local case, is, fails = check.case, check.is, check.fails
ffi.cdef "int kill(int, int);"

-- A server whose files may have 300 MiB, its log too, of which a transaction has three quarters at most.
local function small_server()
    return check.server {file = "small.caret", before = "ulimit -f 614400", options = "--workers 2"}
end

local TOO_MUCH = "the command changes more than one transaction can hold"

case("a transaction that is too large is refused whole, and the worker goes on", function()
    local pid, connect = small_server()
    local c, other = connect(), connect()
    local many = "for i = 1, 280000 do redis.call('set', KEYS[1] .. i, ARGV[1]) end return 'done'"
    local caught = many:gsub("redis.call", "redis.pcall")
    local value = ("v"):rep(900)
    is(c("SET", "before", "1"), "OK")
    fails(c("EVAL", many, 1, "s", value), "ERR " .. TOO_MUCH)
    fails(c("EVAL", caught, 1, "t", value), "ERR " .. TOO_MUCH)
    is(c("MULTI"), "OK")
    is(c("SET", "before", "2"), "QUEUED")
    is(c("EVAL", many, 1, "m", value), "QUEUED")
    is(c("INCR", "before"), "QUEUED")
    fails(c("EXEC"), "EXECABORT Transaction discarded because of: " .. TOO_MUCH)
    fails(c("EXEC"), "ERR EXEC without MULTI")
    for _, one in ipairs {c, other} do
        is(one("DBSIZE"), 1)
        is(one("GET", "before"), "1")
        is(one("EVAL", "return redis.call('append', KEYS[1], '')", 1, "before"), 1)
    end
    is(c("EVAL", many:gsub("280000", "1000"), 1, "s", value), "done")
    is(other("DBSIZE"), 1001)
    c:close()
    other:close()
    ffi.C.kill(pid, 15)
    check.wait(function() return check.gone(pid) end)
end)

-- What is deleted is a range of nodes, whatever is in it. --long: ten million elements.
local MANY = arg and arg[1] == "--long" and 10000000 or 200000

local function fill(c, key, kind)
    local add = {
        list = "redis.call('rpush', KEYS[1], i)", set = "redis.call('sadd', KEYS[1], i)",
        hash = "redis.call('hset', KEYS[1], i, i)", zset = "redis.call('zadd', KEYS[1], i, i)",
    }
    local script = "for i = ARGV[1], ARGV[2] do " .. add[kind] .. " end return 1"
    for from = 1, MANY, 200000 do
        is(c("EVAL", script, 1, key, from, math.min(MANY, from + 199999)), 1)
    end
end

local ways = {
    list = function(c, key) is(c("DEL", key), 1) end,
    set = function(c, key) is(c("UNLINK", key), 1) end,
    hash = function(c, key)
        is(c("PEXPIRE", key, 1), 1)
        check.wait(function() return c("EXISTS", key) == 0 end)
    end,
    zset = function(c) is(c("FLUSHALL"), "OK") end,
}

local function committed(c) return tonumber(c("INFO", "persistence"):match("log_committed:(%d+)")) end

-- Node by node it would be some ten bytes of the log each.
case("a large key goes as one change, and takes no memory of the worker", function(c)
    for kind, delete in pairs(ways) do
        fill(c, "large", kind)
        is(c("TYPE", "large"), kind)
        local before, log = {}, committed(c)
        for _, pid in ipairs(check.workers()) do before[pid] = check.megabytes(pid) end
        delete(c, "large")
        is(c("EXISTS", "large"), 0)
        is(committed(c) - log < 65536, true)
        for pid, had in pairs(before) do is(check.megabytes(pid) < had + 16, true) end
        is(c("RPUSH", "large", "x"), 1)
        is(c("LRANGE", "large", 0, -1), {"x"})
        is(c("FLUSHALL"), "OK")
    end
end)

check.run()
