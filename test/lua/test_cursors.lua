-- Cursors: nodes that the program moves; and methods that count their calls.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestCursors = {}

function TestCursors:setUp()
    db, n = fixture.fresh()
end

function TestCursors:tearDown()
    db:close()
end

-- Every kind of subscript, long and short by turns, names the same node as n[sub].
function TestCursors:test_moves_to_every_kind_of_subscript()
    local subs = {1, "a", -5, ("long"):rep(50), 0.5, "", 1e15, "7", "07", 2 ^ 53, "\0\255", 0,
        ("x"):rep(200), 3}
    local c = n:cursor("somewhere")
    lu.assertTrue(c == n.somewhere)
    for i, sub in ipairs(subs) do
        lu.assertTrue(rawequal(c:move(sub), c))
        lu.assertTrue(c == n(sub), tostring(c))
        lu.assertEquals(tostring(c), tostring(n(sub)))
        c.__ = i
    end
    for i, sub in ipairs(subs) do
        if sub ~= 7 then lu.assertEquals(n(sub):number(), i) end
        lu.assertEquals(c:move(sub):number(), i)
    end
end

-- Beside other changes to the same leaf, splits included: it never reads or writes at the place where it was.
function TestCursors:test_is_the_node_it_was_moved_to()
    local c, seed = n:cursor(1), 7
    local model = {}
    for i = 1, 4000 do
        seed = (seed * 1103515245 + 12345) % 2147483648
        local sub = seed % 500
        c:move(sub)
        lu.assertEquals(c:number(), model[sub])
        if seed % 3 ~= 0 then
            c:set(i)
            model[sub] = i
        elseif seed % 2 == 0 then
            c:kill()
            model[sub] = nil
        else
            n[sub + 1000].__ = i
        end
    end
    for sub = 0, 499 do lu.assertEquals(n[sub]:number(), model[sub]) end
end

function TestCursors:test_is_a_node_in_all_else()
    local c = n:cursor(1)
    lu.assertTrue(caret.isnode(c))
    lu.assertTrue(c:ismutable())
    lu.assertEquals({c:name(), c:depth(), c:varname()}, {1, 1, "^t"})
    c.below.__ = "first"
    local kept, child = db.node(c), c.below
    c:move(2)
    lu.assertEquals(tostring(kept), "^t(1)")
    lu.assertFalse(kept:ismutable())
    lu.assertEquals(tostring(child), '^t(1,"below")') -- made where the cursor was then
    lu.assertEquals(child.__, "first")
    lu.assertNil(c.below.__)
    c.below.__ = "second"
    lu.assertEquals(n[2].below.__, "second")
    lu.assertEquals({c:incr(5), c:get(), c:data()}, {5, "5", 11})
    c[3].__ = "deep"
    lu.assertEquals(n[2][3].__, "deep")
    local subs = {}
    for sub in c:subscripts() do subs[#subs + 1] = sub end
    lu.assertEquals(subs, {3, "below"})
    lu.assertTrue(c:grab(0))
    c:release()
    local deeper = c:cursor("x"):move(3)
    lu.assertEquals(tostring(deeper), "^t(2,3)")
    c:move(9)
    lu.assertEquals(deeper.__, "deep")
end

function TestCursors:test_of_a_local_variable_and_of_a_class()
    local c = db.node("v"):cursor(1)
    for i = 1, 50 do c:move(i).__ = i end
    lu.assertEquals(db.node("v", 50).__, "50")
    db.node("v"):kill()
    local Oak, oak = caret.inherit(db.node)
    function oak.twice(node) return 2 * node:number() end
    n[7].__ = 21
    local moving = Oak("^t"):cursor(1)
    lu.assertEquals(moving:move(7):twice(), 42)
end

function TestCursors:test_misuse_leaves_it_where_it_was()
    local c = n:cursor(1)
    local function refused(text, f, ...)
        lu.assertErrorMsgContains(text, f, ...)
        lu.assertEquals(tostring(c), "^t(1)")
    end
    refused("subscript must be a string or a number, not a nil", c.__move, c)
    refused("subscript must be a string or a number, not a table", c.__move, c, {})
    refused("INVALID", c.__move, c, 0 / 0)
    refused("INVALID", c.__move, c, 1 / 0)
    refused("KEY2BIG", c.__move, c, ("x"):rep(2000))
    refused("only a cursor can be moved: node:cursor(sub) makes one", n.__move, n, 1)
    refused("only a cursor can be moved", c.__move, n[1], 1)
    refused("a node was expected, not a number", c.__move, 5, 1)
    refused("subscript must be", n.__cursor, n)
    refused("KEY2BIG", n.__cursor, n, ("x"):rep(2000))
    n[1].__ = 1
    for child in n:pairs() do refused("only a cursor can be moved", child.__move, child, 5) end
    local deep = db.node("^t")
    for i = 1, 31 do deep = deep(i) end
    refused("MAXSUBS", deep.__cursor, deep, 1)
end

function TestCursors:test_in_a_transaction_that_restarts()
    local c, tries = n:cursor(1), 0
    local add = db:transaction(function()
        tries = tries + 1
        for i = 1, 20 do c:move(i):incr(1) end
        if tries == 1 then caret.trestart() end
    end)
    add()
    lu.assertEquals(tries, 2)
    for i = 1, 20 do lu.assertEquals(n[i].__, "1") end
end

function TestCursors:test_moving_allocates_nothing()
    local c = n:cursor(1)
    local move, number, set = c.__move, c.__number, c.__set
    local function loop()
        for i = 1, 500 do
            if not number(move(c, i)) then set(c, i) end
        end
    end
    -- Of several rounds the one that grew least: LuaJIT may compile a trace in any of them.
    local function grown()
        collectgarbage()
        collectgarbage("stop")
        local before = collectgarbage("count")
        loop()
        local bytes = (collectgarbage("count") - before) * 1024
        collectgarbage("restart")
        return bytes
    end
    local least = grown()
    for _ = 1, 9 do least = math.min(least, grown()) end
    lu.assertTrue(least < 500, least)
end

-- ------------------------------------------------------------------ counting

TestCounted = {setUp = TestCursors.setUp, tearDown = TestCursors.tearDown}

function TestCounted:test_counts_the_calls_of_a_class()
    local Oak, oak, node = caret.inherit(db.node)
    local reads, writes
    oak.get, reads = caret.counted(node.get)
    oak.set, writes = caret.counted(node.set)
    local a = Oak("^t", "a")
    a.__ = 1
    a:set(2)
    lu.assertEquals({a.__, a:get(), a:__get(), n.a.__}, {"2", "2", "2", "2"}) -- the last is of no class
    lu.assertEquals({reads(), writes()}, {3, 2})
    lu.assertEquals(a:get("default"), "2")
    lu.assertEquals(Oak("^t", "none"):get("default"), "default")
    lu.assertEquals({reads(), writes()}, {5, 2})
    lu.assertErrorMsgContains("value must be", a.__set, a, {})
    lu.assertEquals(writes(), 3) -- it was called
end

function TestCounted:test_counts_any_function()
    local sum, calls = caret.counted(function(a, b, ...) return a + b, select("#", ...), ... end)
    lu.assertEquals({sum(1, 2, nil, 4)}, {3, 2, nil, 4})
    lu.assertEquals({sum(1, 2)}, {3, 0})
    lu.assertEquals(calls(), 2)
    caret.counted(n.__kill)(n)
    lu.assertEquals(select(2, caret.counted(n.__kill))(), 0) -- a count for each
    local length = caret.counted(string.len)
    lu.assertEquals(length("abc"), 3)
    lu.assertErrorMsgContains("counted needs a function, not a nil", caret.counted)
    lu.assertErrorMsgContains("counted needs a function, not a table", caret.counted, {})
end

fixture.keeps_many_objects()
fixture.run()
