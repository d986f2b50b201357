-- trees.lua SEED N - random changes of local arrays and of globals, which must be the same trees after each.
--
-- Both are asked the same questions.

local A = require "mumps.runtime.array"
require "mumps.runtime.walk"
local G = require "mumps.data.globals"

local seed, count = tonumber(arg[1] or 1), tonumber(arg[2] or 30000)
math.randomseed(seed)
local random = math.random

local X = {name = "T", c = {v = nil, a = false, s = false, n = 0, b = false}}
local places = {}
local function place(what, n)
    local name = what .. n
    places[name] = places[name] or G.place("^T", {})
    return places[name]
end

local some = {1, 2, 3, 4, 5, "6", "1", -1, -2, 0, 10, 100, ".5", "-.5", "1.5", "2.25", "01", "1.0", "-0",
    "+1", "a", "b", "A", "aa", "z", " ", "\0", "\255", "1a", "1E3", "100000000000000000000", ".", "-",
    "12345678901234567", 9007199254740991, "9007199254740993", "9007199254740992", "-9007199254740993",
    ".000001", ".999999999999999999", "-.999999999999999999", "1.000000000000000001", "1.00000000000000001"}
local function subscript()
    local kind = random(4)
    if kind == 1 then return random(1, 8) end
    if kind == 2 then return "k" .. random(600) end
    if kind == 3 then return random(-300, 300) end
    return some[random(#some)]
end

local function subscripts()
    local n, subs = random(0, 3), {}
    if random(3) > 1 then n = 1 end
    for i = 1, n do subs[i] = subscript() end
    return n, subs
end

local function text(v) return type(v) == "number" and ("%.0f"):format(v) or tostring(v) end

local function same(what, n, subs, a, b)
    if text(a) ~= text(b) then
        for i = 1, n do subs[i] = ("%q"):format(subs[i]) end
        error(("%s(%s): local %s, global %s"):format(what, table.concat(subs, ","), text(a), text(b)), 0)
    end
end

local function both(what, n, subs, ...)
    local arguments = {unpack(subs, 1, n)}
    for _, v in ipairs {...} do arguments[#arguments + 1] = v end
    local a, b = A[what][n](X, unpack(arguments)), G[what][n](place(what, n), unpack(arguments))
    if type(b) == "string" and what:find "^query" then b = b:gsub("^%^", "") end
    same(what, n, subs, a, b)
    return a
end

local asked = {"peek", "data", "next", "prev", "query", "queryback"}
local function ask(n, subs)
    local what = asked[random(#asked)]
    if n > 0 or what == "peek" or what == "data" or what == "query" then both(what, n, subs) end
end

-- All of it, both ways.
local function go_through(n, subs)
    if n == 0 then n, subs = 1, {""} end
    for _, what in ipairs {"next", "prev"} do
        subs[n] = ""
        repeat
            subs[n] = both(what, n, subs)
            if subs[n] ~= "" and random(4) == 1 then
                both("kill", n, subs)
            end
        until subs[n] == ""
        subs[n] = subscript()
    end
end

local function step(i)
    local n, subs = subscripts()
    local what = random(20)
    if what <= 9 then
        both("set", n, subs, random(3) == 1 and i or "v" .. i)
    elseif what == 10 then
        both("incr", n, subs, i)
    elseif what == 11 then
        both(random(2) == 1 and "kill" or "zkill", n, subs)
    elseif what == 12 and random(300) == 1 then
        both("kill", 0, subs)
    elseif what == 12 and random(30) == 1 then
        go_through(n, subs)
    end
    for _ = 1, 3 do ask(subscripts()) end
    ask(n, subs)
end

G.kill[0](place("kill", 0))
for i = 1, count do step(i) end
go_through(0, {})
G.kill[0](place("kill", 0))
print "ok"
