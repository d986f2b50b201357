-- The Lua module: nodes, values, iteration, trees, transactions, locks, errors, subclasses.
local lu = require "luaunit"
local caret = require "caret"

local path = os.tmpname() .. ".caret"
local db

TestCaret = {}

function TestCaret:setUp()
    db = assert(caret.open(path, {sync = "off"}))
    db.node("^t"):kill()
end

function TestCaret:tearDown()
    db:close()
end

function TestCaret:test_value_by_dot_method_and_underscore()
    local n = db.node("^t")
    n.oak.shadow.__ = 10
    lu.assertEquals(n.oak.shadow.__, "10")
    lu.assertEquals(n.oak.shadow:get(), "10")
    lu.assertEquals(n.oak.shadow:__get(), "10")
    lu.assertEquals(n("oak", "shadow").__, "10")
    lu.assertEquals(n({"oak", "shadow"}).__, "10")
    lu.assertEquals(db:node("^t", "oak", "shadow").__, "10")
    lu.assertNil(n.none.__)
    lu.assertEquals(n.none:get("default"), "default")
    n.oak.shadow.__ = nil
    lu.assertNil(n.oak.shadow.__)
end

function TestCaret:test_names_of_methods_are_subnodes_too()
    local n = db.node("^t")
    n.get.__ = "a"
    n.get.set.__ = "b"
    lu.assertEquals(n.get.__, "a")
    lu.assertEquals(n.get.set:get(), "b")
    lu.assertEquals(n:get(), nil)
end

function TestCaret:test_numbers_are_canonical()
    local n = db.node("^t")
    n[1].__ = 0.5
    lu.assertEquals(n[1].__, ".5")
    n[10 / 2].__ = "five"
    lu.assertEquals(n[5].__, "five")
    lu.assertEquals(n["5"].__, "five")
    lu.assertNil(n["05"].__)
    n.x.__ = 3.0
    lu.assertEquals(n.x.__, "3")
    lu.assertEquals(n.x:number(), 3)
    lu.assertEquals(n[1]:number(), 0.5)
end

function TestCaret:test_incr_is_exact_and_returns_a_number()
    local n = db.node("^t").sum
    for _ = 1, 10 do n:incr(".1") end
    lu.assertEquals(n.__, "1")
    lu.assertEquals(n:incr(), 2)
    lu.assertEquals(n:incr(5), 7)
    n = n + 3 - 1
    lu.assertEquals(n.__, "9")
end

function TestCaret:test_data_kill_delete()
    local n = db.node("^t")
    lu.assertEquals(n.a:data(), 0)
    n.a.__ = 1
    lu.assertEquals(n.a:data(), 1)
    n.a.b.__ = 1
    lu.assertEquals(n.a:data(), 11)
    n.a:delete()
    lu.assertEquals(n.a:data(), 10)
    lu.assertTrue(n.a:has_tree())
    lu.assertFalse(n.a:has_value())
    n.a:kill()
    lu.assertEquals(n.a:data(), 0)
end

function TestCaret:test_subscripts_in_order_both_ways()
    local n = db.node("^t")
    for _, s in ipairs {"b", 10, 9, -1, "a", 0.5, ""} do n[s].__ = 1 end
    local got = {}
    for s in n:subscripts() do got[#got + 1] = s end
    lu.assertEquals(got, {"", -1, ".5", 9, 10, "a", "b"})
    local back = {}
    for s in n:subscripts(true) do table.insert(back, 1, s) end
    lu.assertEquals(back, got)
    lu.assertEquals(n:next(9), 10)
    lu.assertEquals(n:previous(9), ".5")
    lu.assertNil(n:next("b"))
end

function TestCaret:test_pairs_gives_mutable_children()
    local n = db.node("^t")
    for i = 1, 300 do n[i].__ = i * i end
    n[300].below.__ = 1
    local count = 0
    for child, value, sub in n:pairs() do
        count = count + 1
        lu.assertEquals(sub, count)
        lu.assertEquals(value, tostring(count * count))
        lu.assertTrue(child:ismutable())
        lu.assertEquals(tostring(child), "^t(" .. count .. ")")
    end
    lu.assertEquals(count, 300)
end

function TestCaret:test_trees_round_trip()
    local n = db.node("^t")
    local tree = {__ = "top", a = {__ = "1", b = {c = "2"}}, [1] = "one", [2] = {x = "y"}}
    n:settree(tree)
    lu.assertEquals(n:gettree(), tree)
    n:settree({a = caret.DELETE})
    lu.assertEquals(n.a:data(), 0)
    lu.assertEquals(n:gettree(0), {__ = "top"})
end

function TestCaret:test_dump_is_zwr()
    local n = db.node("^t")
    n.__ = "x"
    n[1]['a"b'].__ = "l\n"
    lu.assertEquals(n:dump(), '^t="x"\n^t(1,"a""b")="l"_$C(10)')
end

function TestCaret:test_transaction_commits_returns_and_rolls_back()
    local n = db.node("^t")
    lu.assertEquals({db:tp(function(x) n.a.__ = x; return x, nil, 3 end, 5)}, {5, nil, 3})
    lu.assertEquals(n.a.__, "5")
    local ok, err = pcall(db.tp, db, function() n.a.__ = 6; error("boom", 0) end)
    lu.assertFalse(ok)
    lu.assertEquals(err, "boom")
    lu.assertEquals(n.a.__, "5")
    local r, _, name = db:transaction(function() n.a.__ = 7; caret.trollback() end)()
    lu.assertNil(r)
    lu.assertEquals(name, "ROLLBACK")
    lu.assertEquals(n.a.__, "5")
    local runs = 0
    db:tp(function() runs = runs + 1; n.a:incr(); if runs < 5 then caret.trestart() end end)
    lu.assertEquals(runs, 5)
    lu.assertEquals(n.a.__, "6")
end

function TestCaret:test_inner_transactions_are_savepoints()
    local n = db.node("^t")
    db:tp(function()
        n.a.__ = 1
        pcall(db.tp, db, function() n.a.__ = 2; n.b.__ = 1; error("no") end)
        lu.assertEquals(n.a.__, "1")
        lu.assertNil(n.b.__)
        db:tp(function() n.c.__ = 3 end)
    end)
    lu.assertEquals(n:gettree(), {a = "1", c = "3"})
end

function TestCaret:test_locks()
    local other = assert(caret.open(path))
    local a, b = db.node("^t").l, other.node("^t").l
    lu.assertTrue(a:grab())
    local got, text, name = b:grab(0)
    lu.assertNil(got)
    lu.assertStrContains(text, "LOCK_TIMEOUT")
    lu.assertEquals(name, "LOCK_TIMEOUT")
    lu.assertNil((other.node("^t"):grab(0)))
    lu.assertNil((b.below:grab(0)))
    a:release()
    lu.assertTrue(b:grab(0))
    lu.assertTrue(other:lock {})
    lu.assertTrue(a:grab(0))
    lu.assertTrue(db:lock {{"^t", 1}, db.node("^t", 2)})
    lu.assertTrue(b:grab(0))
    other:close()
end

function TestCaret:test_misuse_raises_with_a_reason()
    local n = db.node("^t")
    lu.assertErrorMsgContains("node is no table", function() n.x = 5 end)
    lu.assertErrorMsgContains("value must be", function() n.x.__ = {} end)
    lu.assertErrorMsgContains("subscript must be", function() return n[{}] end)
    lu.assertErrorMsgContains("no method", function() n:nothing() end)
    lu.assertErrorMsgContains("NAME", function() db.node("^1x") end)
    lu.assertErrorMsgContains("number", function() n.y.__ = "abc"; n.y:number() end)
    lu.assertErrorMsgContains("MAXSUBS", function()
        local x = n
        for i = 1, 40 do x = x[i] end
    end)
    local d, text, name = caret.open("/")
    lu.assertNil(d)
    lu.assertEquals(text:sub(1, #name + 1), name .. ":")
end

function TestCaret:test_a_closed_database_raises()
    local other = assert(caret.open(path))
    local n = other.node("^t").x
    other:close()
    other:close()
    lu.assertErrorMsgContains("CLOSED", function() return n.__ end)
    lu.assertErrorMsgContains("CLOSED", function() return other.node("^t") end)
end

function TestCaret:test_subclasses_override_get_and_set()
    local gets, sets = 0, 0
    local new, class, super = caret.inherit(db.node)
    function class:get(...) gets = gets + 1; return super.get(self, ...) end
    function class:set(v) sets = sets + 1; return super.set(self, v) end
    local n = new("^t")
    n.a.__ = 1
    lu.assertEquals(n.a.__, "1")
    lu.assertEquals(n.a:get(), "1")
    lu.assertEquals({gets, sets}, {2, 1})
    local _, sub = caret.inherit(new)
    function sub.hello() return "hi" end
end

function TestCaret:test_many_children_do_not_grow_memory()
    local n = db.node("^t")
    for i = 1, 1000 do local _ = n["k" .. i] end
    collectgarbage()
    collectgarbage()
    local before = collectgarbage("count")
    for i = 1, 200000 do local _ = n["k" .. i][i] end
    collectgarbage()
    collectgarbage()
    lu.assertTrue(collectgarbage("count") < before + 200)
end

function TestCaret:test_equality_and_addresses()
    local a, b = db.node("^t", 1, "x"), db.node("^t")[1].x
    lu.assertTrue(a == b)
    lu.assertEquals(a:name(), "x")
    lu.assertEquals(a:varname(), "^t")
    lu.assertEquals(a:depth(), 2)
    lu.assertEquals(a:subsarray(), {1, "x"})
    lu.assertEquals(tostring(a), '^t(1,"x")')
end

local code = lu.LuaUnit.run()
os.remove(path)
os.exit(code)
