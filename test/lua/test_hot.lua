-- Two answers that are used together in hot code: LuaJIT reads a number that C left in memory where it is
-- used, which may be after the next call of C.  So each case is a loop whose body asks twice and combines the
-- answers.  It gives the same with the compiler on as with the compiler off.
local lu = require "luaunit"
local fixture = require "fixture"

local jit = rawget(_G, "jit")
local compiled = jit and type(require("caret.core").ffi) == "table" and package.loaded["caret.ffi"]
local load = loadstring or load

local db

TestHot = {}

function TestHot:setUp()
    lu.skipIf(not compiled, "nodes are the C module's here, not the FFI's")
    db = fixture.fresh()
    for i = 1, 700 do db.node "^many"[i].__ = i end -- more than any loop steps through
end

function TestHot:tearDown()
    if db then db:close() end
end

-- Of a, b and k there are keys; others make their keys anew.
local questions = {
    "a:number()", "b:number()", "n.a:number()", "n.k[2]:number()", "k[i % 3 + 1]:number()",
    "n.none:number(5)", "moved:move(i % 3 + 1):number()", "c:incr()", "c:incr(2)", "n.c:incr(2.5)",
    "c:set(i)", "n.c:set(i)", "tonumber(a:get())", "#n.b.__", "a:data()", "n.k:data()", "k:next(i % 3)",
    "k:previous(i % 3 + 2)", "first(k:pairs())", "first(k:pairs(true))", "rising(k:pairs())",
    "rising(k:subscripts())", "typed.a.__", "typed.b.__", "typed.c:incr(3)", "cache:get('a')",
    "cache:get('b')", "cache:incr('c', 2)", "(a == n.a and 1 or 2)", "(n.k:has_tree() and 3 or 4)",
    "step()", "second(turn())",
}

local combined = {
    "x < y", "x == y", "x > y", "x <= y", "y - x", "y / x", "y % x", "min(x, y)", "max(x, y)", "x .. y",
    "-x + y", "floor(x) - y", "seen[x] == y",
}

local form = [[
local n, a, b, c, k, moved, typed, cache, step, turn, first, second, rising, seen, min, max, floor = ...
return function()
    local sum = 0
    for i = 1, 150 do
        %s
        local kind = type(r)
        if kind == "string" then r = #r elseif kind == "boolean" then r = r and 1 or 2 end
        sum = (sum * 3 + r) %% 1000003
    end
    return sum
end
]]

local bodies = {
    "local x, y = %s, %s local r = %s",
    "local x = %s n.w.__ = i local y = %s local r = %s",
    "local r = 0 for _ = 1, 2 do local x, y = %s, %s r = %s end",
}

local function second(_, _, name) return name end

local function first(step, state, from)
    local _, value = step(state, from)
    return tonumber(value)
end

-- How many of the numbers that come are greater than the one before.
local function rising(step, state, from)
    local last, count = 0, 0
    for sub, _, name in step, state, from do
        local now = name or sub
        if last < now then count = count + 1 end
        last = now
    end
    return count
end

local cache_of = {}

-- What the loops ask, as it is in the beginning.
local function world()
    local n = db.node "^t"
    n:kill()
    n.a.__, n.b.__, n.c.__ = 15, 25.5, 0
    for i = 1, 5 do n.k[i].__ = i * 1.5 end
    local typed = require("caret.typed").new(db)("^t").typed
    typed.a.__, typed.b.__, typed.c.__ = 3, 4.5, 0
    local cache = cache_of[db] or require("caret.cache").new(db, "^cache")
    cache_of = {[db] = cache}
    cache:set("a", 6)
    cache:set("b", 7.5)
    cache:set("c", 0)
    for _, node in ipairs {n.a, n.b, n.c, n.k} do -- by now they have keys
        for _ = 1, 4 do node:get() end
    end
    local many = db.node "^many"
    return n, n.a, n.b, n.c, n.k, n.k:cursor(1), typed, cache, many:subscripts(), many:pairs(), first, second,
        rising, {}, math.min, math.max, math.floor
end

local function answer(source)
    return assert(load(source))(world())()
end

local function assert_alike(sources)
    local wanted, other = {}, {}
    jit.off()
    for i, source in ipairs(sources) do wanted[i] = answer(source) end
    jit.on()
    for i, source in ipairs(sources) do
        if answer(source) ~= wanted[i] then other[#other + 1] = source end
    end
    lu.assertEquals(other, {})
end

-- Each question before each; the ways to combine them in turn.
local function pairs_of_questions(body)
    local sources = {}
    for i, x in ipairs(questions) do
        for j, y in ipairs(questions) do
            local way = combined[(i * 7 + j) % #combined + 1]
            sources[#sources + 1] = form:format(body:format(x, y, way))
        end
    end
    return sources
end

function TestHot:test_one_after_the_other() assert_alike(pairs_of_questions(bodies[1])) end

function TestHot:test_a_change_between() assert_alike(pairs_of_questions(bodies[2])) end

function TestHot:test_an_inner_loop() assert_alike(pairs_of_questions(bodies[3])) end

function TestHot:test_every_combination_of_two_of_a_kind()
    local sources = {}
    for i, x in ipairs(questions) do
        for _, y in ipairs {x, questions[i + 1]} do
            for _, way in ipairs(combined) do
                sources[#sources + 1] = form:format(bodies[1]:format(x, y, way))
            end
        end
    end
    assert_alike(sources)
end

-- Once: what the compiler does is the same with every collector.
local failures = lu.LuaUnit.new():runSuite((table.unpack or unpack)(arg))
fixture.remove()
os.exit(failures == 0 and 0 or 1)
