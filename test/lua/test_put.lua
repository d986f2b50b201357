-- What one call does where two would be needed: put, add, swap, random; transactions that run alone; batch.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestPut = {}

function TestPut:setUp()
    db, n = fixture.fresh()
end

function TestPut:tearDown()
    db:close()
end

function TestPut:test_put_sets_below()
    for i = 1, 3 do
        lu.assertEquals(n:put("a", i, i * 2), i * 2)
    end
    n:put({"b", 1}, 2, "deep")
    n:put("own")
    lu.assertEquals(n.a[2].__, "4")
    lu.assertEquals(n("b", 1, 2).__, "deep")
    lu.assertEquals(n.__, "own")
    n:put("a", 2, nil)
    lu.assertNil(n.a[2].__)
    local c = n:cursor("a")
    c:__put(9, "by a cursor")
    lu.assertEquals(n.a[9].__, "by a cursor")
    lu.assertErrorMsgContains("put needs a value", function() n:put() end)
    local many = {}
    for i = 1, 32 do many[i] = i end
    lu.assertErrorMsgContains("MAXSUBS", function() n:put(many, "v") end)
end

function TestPut:test_add_sets_once()
    for _, node in ipairs {n.new, db.node("new")} do
        lu.assertEquals({node:add("first")}, {true})
        lu.assertEquals({node:add("second")}, {false, "first"})
        lu.assertEquals(node:swap(3), "first")
        lu.assertEquals(node.__, "3")
        node:delete()
        lu.assertNil(node:swap(""))
        lu.assertEquals({node:add("x")}, {false, ""})
        lu.assertErrorMsgContains("add needs a value", function() node:add() end)
        node:kill()
    end
    local long = ("x"):rep(100000)
    n.long:add(long)
    lu.assertEquals(n.long:swap("short"), long)
end

function TestPut:test_add_and_swap_in_a_transaction()
    n.a.__ = "before"
    db:tp(function()
        lu.assertEquals({n.a:add("x")}, {false, "before"})
        lu.assertEquals(n.a:swap("after"), "before")
        lu.assertEquals({n.b:add("y")}, {true})
        lu.assertEquals({n.b:add("z")}, {false, "y"})
    end)
    lu.assertEquals(n.a.__ .. n.b.__, "aftery")
end

function TestPut:test_random_children()
    lu.assertNil(n:random())
    local seen, count = {}, 0
    for i = 1, 5 do n[i].x.__ = i end
    n.name.__ = "x"
    for _ = 1, 1000 do
        local sub = n:random()
        if not seen[sub] then count = count + 1 end
        seen[sub] = true
    end
    lu.assertEquals(count, 6)
    lu.assertTrue(seen[1] and seen[5] and seen.name)
end

function TestPut:test_transactions_run_alone()
    lu.assertEquals(db:tp("ALONE", function()
        n.a.__ = 1
        return n.a:incr()
    end), 2)
    lu.assertEquals(db:transaction("ALONE", function() return "done" end)(), "done")
    lu.assertErrorMsgContains("'ALONE'", function() db:tp("LONELY", print) end)
    db:tp(function()
        lu.assertErrorMsgContains("INTXN", function() db:tp("ALONE", print) end)
    end)
end

function TestPut:test_batch_does_not_wait()
    local name = os.tmpname()
    os.remove(name)
    local slow = assert(caret.open(name, {sync = "commit"}))
    slow:batch()
    slow:set("^b", 1)
    local durable, committed = slow:durable()
    lu.assertTrue(durable < committed)
    slow:batch(false)
    slow:set("^b", 2)
    durable, committed = slow:durable()
    lu.assertEquals(durable, committed)
    slow:close()
    os.remove(name)
end

fixture.run()
