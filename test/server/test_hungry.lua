-- Scripts that want more memory than a script may have: they are told so, other clients go on, and the worker
-- is as small as before when it is over.
local check = require "check"
local resp = require "resp"
local case, is, fails = check.case, check.is, check.fails

-- What each does in a worker at once is a gigabyte at most, half of it mostly.
local hungry = {
    ["return ('x'):rep(2^30)"] = "ERR not enough memory script: ",
    ["local t = {} for i = 1, 2^28 do t[i] = i end return #t"] = "ERR not enough memory script: ",
    ["local s, t = ('x'):rep(2^24), {} for i = 1, 64 do t[i] = s end return #table.concat(t)"] =
        "ERR not enough memory script: ",
    ["local s, t = ('x'):rep(2^24), {} for i = 1, 64 do t[i] = s end return #cmsgpack.pack(t)"] =
        "ERR user_script:1: result is larger than 536870912 bytes script: ",
    ["local s, t = ('x'):rep(2^24), {} for i = 1, 64 do t[i] = s end return #cjson.encode(t)"] =
        "ERR user_script:1: result is larger than 536870912 bytes script: ",
}

case("all are told so, in two workers at once, and the memory is given back", function(c)
    local list, before = check.spread(math.min(check.info(c, "workers"), 2)), {}
    for _, pid in ipairs(check.workers()) do before[pid] = check.megabytes(pid) end
    for script, wanted in pairs(hungry) do
        for _, one in ipairs(list) do one:send(resp.encode("EVAL", script, 0)) end
        is(c("INCR", "n") > 0, true)
        for _, one in ipairs(list) do fails(one:read(), wanted) end
        for _, one in ipairs(list) do
            is(one("EVAL", "return redis.call('get', KEYS[1])", 1, "n"), c("GET", "n"))
        end
    end
    for pid, had in pairs(before) do
        check.wait(function() return check.megabytes(pid) < had + 100 end)
    end
    for _, one in ipairs(list) do one:close() end
end)

case("a script that catches the error goes on", function(c)
    local script = [[
        local fine, why = pcall(string.rep, 'x', 2^30)
        redis.call('set', KEYS[1], why)
        return tostring(fine)
    ]]
    is(c("EVAL", script, 1, "why"), "false")
    is(c("GET", "why"), "not enough memory")
end)

case("what a script writes before it wants too much stays, as with every error", function(c)
    fails(c("EVAL", "redis.call('set', KEYS[1], 1) return ('x'):rep(2^30)", 1, "k"), "ERR not enough memory")
    is(c("GET", "k"), "1")
end)

case("libraries are there again in a state that was made anew", function(c)
    is(c("FUNCTION", "LOAD", "REPLACE", [[#!lua name=big
        redis.register_function('big', function() return #('x'):rep(2^27 + 2^26) end)
        redis.register_function('small', function() return 7 end)]]), "big")
    for _ = 1, 3 do
        is(c("FCALL", "big", 0), 2^27 + 2^26)
        is(c("FCALL", "small", 0), 7)
        is(c("EVAL", "return #('x'):rep(2^27 + 2^26)", 0), 2^27 + 2^26)
    end
    c("MULTI")
    c("EVAL", "return #('x'):rep(2^27 + 2^26)", 0)
    c("FCALL", "big", 0)
    c("EVAL", "return 1", 0)
    is(c("EXEC"), {2^27 + 2^26, 2^27 + 2^26, 1})
    c("FUNCTION", "FLUSH")
end)

check.run()
