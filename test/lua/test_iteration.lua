-- Iteration: subscripts, pairs, next and previous.
local lu = require "luaunit"
local fixture = require "fixture"

local db, n

TestIteration = {}

function TestIteration:setUp()
    db, n = fixture.fresh()
end

function TestIteration:tearDown()
    db:close()
end

local function list(...)
    local got = {}
    for s in ... do got[#got + 1] = s end
    return got
end

local function reversed(t)
    local r = {}
    for i = #t, 1, -1 do r[#r + 1] = t[i] end
    return r
end

function TestIteration:test_subscripts_in_order_both_ways()
    for _, s in ipairs {"b", 10, 9, -1, "a", 0.5, "", "01"} do n[s].__ = 1 end
    local order = {"", -1, ".5", 9, 10, "01", "a", "b"}
    lu.assertEquals(list(n:subscripts()), order)
    lu.assertEquals(list(n:subscripts(true)), reversed(order))
    lu.assertEquals(list(n.none:subscripts()), {})
end

function TestIteration:test_next_and_previous()
    for _, s in ipairs {9, 10, 0.5, "b"} do n[s].__ = 1 end
    lu.assertEquals(n:next(), ".5")
    lu.assertEquals(n:next(0.5), 9)
    lu.assertEquals(n:next("9"), 10)
    lu.assertEquals(n:next(9.5), 10)
    lu.assertEquals(n:next(10), "b")
    lu.assertNil(n:next("b"))
    lu.assertEquals(n:previous(), "b")
    lu.assertEquals(n:previous(9), ".5")
    lu.assertNil(n:previous(0.5))
    lu.assertNil(n.none:next())
    lu.assertEquals(select("#", n.none:next()), 1)
end

function TestIteration:test_pairs_gives_mutable_children()
    for i = 1, 300 do n[i].__ = i * i end
    n[300].below.__ = 1
    n[301].below.__ = 1
    local count, cursor = 0, nil
    for child, value, sub in n:pairs() do
        count = count + 1
        cursor = cursor or child
        lu.assertIs(child, cursor)
        lu.assertEquals(sub, count)
        lu.assertEquals(value, count <= 300 and tostring(count * count) or nil)
        lu.assertTrue(child:ismutable())
        lu.assertEquals(child:get(), value)
        lu.assertEquals(tostring(child), "^t(" .. count .. ")")
        lu.assertEquals(child.below:data(), count >= 300 and 1 or 0)
    end
    lu.assertEquals(count, 301)
    for _, _, sub in n:pairs(true) do
        lu.assertEquals(sub, count)
        count = count - 1
    end
    lu.assertEquals(count, 0)
end

function TestIteration:test_pairs_of_lua()
    if _VERSION == "Lua 5.1" then return end
    for i = 1, 3 do n[i].__ = -i end
    local got = {}
    for _, value, sub in pairs(n) do got[sub] = value end
    lu.assertEquals(got, {"-1", "-2", "-3"})
end

function TestIteration:test_changing_what_is_walked()
    for i = 1, 100 do n[i].__ = i end
    local seen = 0
    for child, _, sub in n:pairs() do
        seen = seen + 1
        child:kill()
        if sub == 50 then n[50.5].__ = "new" end
    end
    lu.assertEquals(seen, 101)
    lu.assertEquals(n:data(), 0)
end

function TestIteration:test_two_walks_do_not_disturb_each_other()
    for i = 1, 5 do for j = 1, 5 do n[i][j].__ = i * j end end
    local sum = 0
    for child in n:pairs() do
        for _, value in child:pairs() do sum = sum + value end
    end
    lu.assertEquals(sum, 225)
end

function TestIteration:test_every_iterator_is_independent_and_ends()
    n[1].__ = 1
    local a, b = n:subscripts(), n:subscripts()
    lu.assertEquals({a(), a()}, {1})
    lu.assertEquals(b(), 1)
    lu.assertNil(b())
    lu.assertNil(b())
    local none = n.none:subscripts()
    lu.assertNil(none())
    lu.assertNil(none())
end

fixture.run()
