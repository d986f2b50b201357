-- Nodes as objects: addresses, methods and subnodes of the same names, copies.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestNodes = {}

function TestNodes:setUp()
    db, n = fixture.fresh()
end

function TestNodes:tearDown()
    db:close()
end

function TestNodes:test_every_spelling_reaches_the_same_node()
    n.oak.shadow.__ = 10
    lu.assertEquals(n["oak"]["shadow"].__, "10")
    lu.assertEquals(n("oak", "shadow").__, "10")
    lu.assertEquals(n({"oak", "shadow"}).__, "10")
    lu.assertEquals(n("oak", {"shadow"}).__, "10")
    lu.assertEquals(db.node("^t", "oak", "shadow").__, "10")
    lu.assertEquals(db:node("^t", "oak", "shadow").__, "10")
    lu.assertEquals(db.node("^t", {"oak", "shadow"}).__, "10")
    lu.assertEquals(db.node(n.oak, "shadow").__, "10")
    lu.assertEquals(db:node(n).oak.shadow.__, "10")
    lu.assertEquals(db:get("^t", "oak", "shadow"), "10")
end

function TestNodes:test_names_of_methods_are_subnodes_too()
    n.get.__ = "a"
    n.get.set.__ = "b"
    n.incr.get.__ = "c"
    lu.assertEquals(n.get.__, "a")
    lu.assertEquals(n.get.set:get(), "b")
    lu.assertEquals(n.incr.get:get(), "c")
    lu.assertEquals(n.get:get(), "a")
    lu.assertEquals(n.get:__get(), "a")
    lu.assertNil(n:get())
    lu.assertNil(n:__get())
end

function TestNodes:test_a_method_found_through_another_object_of_the_same_address()
    n.__ = "v"
    local get = db.node("^t").get
    lu.assertEquals(get(n), "v")
    lu.assertEquals(db.node("^t", "a").get(db.node("^t", "a"), "none"), "none")
    lu.assertErrorMsgContains("subscript must be", get, n.other)
end

function TestNodes:test_methods_of_nodes_made_by_numbers_and_calls()
    for i = 1, 100 do
        n[i]:set(i)
        lu.assertEquals(n[i]:get(), tostring(i))
        lu.assertEquals(n(i):number(), i)
        local same = n[i]
        for _ = 1, 3 do lu.assertEquals(same:get(), tostring(i)) end
    end
end

function TestNodes:test_underscored_names_need_a_call()
    n("__x").__ = 1
    lu.assertEquals(n("__x").__, "1")
    lu.assertErrorMsgContains("n", function() return n.__x end)
    n._x.__ = 2
    lu.assertEquals(n._x.__, "2")
end

function TestNodes:test_children_by_name_are_remembered()
    lu.assertIs(n.a, n.a)
    lu.assertIs(n.a.b, n.a.b)
    lu.assertTrue(n["7"] == n[7])
end

function TestNodes:test_more_children_than_are_remembered()
    for round = 1, 3 do
        for i = 1, 200 do
            lu.assertEquals(tostring(n["k" .. i]), '^t("k' .. i .. '")', round)
        end
    end
end

function TestNodes:test_addresses_can_be_asked()
    local a, b = db.node("^t", 1, "x"), n[1].x
    lu.assertTrue(a == b)
    lu.assertFalse(a == n[1])
    lu.assertFalse(n[1] == db.node("^u", 1))
    lu.assertFalse(db.node("t", 1) == n[1])
    lu.assertEquals(a:name(), "x")
    lu.assertEquals(n:name(), "^t")
    lu.assertEquals(a:varname(), "^t")
    lu.assertEquals(db.node("t").x:varname(), "t")
    lu.assertEquals(a:depth(), 2)
    lu.assertEquals(n:depth(), 0)
    lu.assertEquals(a:subsarray(), {1, "x"})
    lu.assertEquals(n:subsarray(), {})
    lu.assertEquals(tostring(a), '^t(1,"x")')
    lu.assertEquals(a:repr(), '^t(1,"x")')
    lu.assertTrue(caret.isnode(a))
    for _, other in ipairs {1, "x", {}, db, io.stdout} do lu.assertFalse(caret.isnode(other)) end
end

function TestNodes:test_subscripts_of_any_bytes()
    local all = {}
    for i = 0, 255 do all[i + 1] = string.char(i) end
    all = table.concat(all)
    for _, s in ipairs {all, "\0", "", "\255\255", ("x"):rep(400), "1e3", "-0", "007", "+1"} do
        local c = n(s)
        lu.assertEquals(c:name(), s)
        c.__ = s
        lu.assertEquals(n[s].__, s)
    end
    lu.assertStrContains(tostring(n(("x"):rep(700))), ("x"):rep(700))
end

function TestNodes:test_numbers_are_canonical_subscripts()
    n[10 / 2].__ = "five"
    lu.assertEquals(n[5].__, "five")
    lu.assertEquals(n["5"].__, "five")
    lu.assertNil(n["05"].__)
    lu.assertEquals(n[5]:name(), 5)
    lu.assertEquals(n[0.5]:name(), ".5")
    lu.assertEquals(n[-12.5]:name(), "-12.5")
    lu.assertEquals(n["05"]:name(), "05")
    lu.assertEquals(n[1e15]:name(), 1e15)
    lu.assertEquals(tostring(n[1e15]), "^t(1000000000000000)")
    if math.type then
        lu.assertEquals(n[123456789012345678]:name(), 123456789012345678)
        lu.assertEquals(n[math.maxinteger]:name(), "9223372036854775807") -- 19 digits are not a number
        lu.assertEquals(math.type(n[3.0]:name()), "integer")
    end
end

function TestNodes:test_a_copy_of_a_mutable_node_stays()
    for i = 1, 3 do n[i].__ = i end
    local kept, cursor, get = {}, nil, nil
    for child in n:pairs() do
        kept[#kept + 1] = db.node(child)
        get = get or child.get
        cursor = child
    end
    for i = 1, 3 do lu.assertTrue(kept[i] == n[i]) end
    lu.assertFalse(kept[1]:ismutable())
    lu.assertTrue(cursor:ismutable())
    lu.assertFalse(n[1]:ismutable())
    lu.assertEquals(kept[2].__, "2")
    lu.assertEquals(tostring(get), '^t(1,"get")')
    lu.assertErrorMsgContains("subscript must be", get, cursor) -- it has moved on
end

function TestNodes:test_methods_work_where_no_subnode_can_be()
    local deep = db.node("^t")
    for i = 1, 31 do deep = deep[i] end
    deep:set("at the bottom")
    lu.assertEquals(deep:get(), "at the bottom")
    lu.assertEquals(deep.__, "at the bottom")
    lu.assertEquals(deep:depth(), 31)
    lu.assertNil(deep:subscripts()())
    lu.assertErrorMsgContains("MAXSUBS", function() return deep.nothing end)
    lu.assertErrorMsgContains("MAXSUBS", function() return deep[1] end)
    lu.assertErrorMsgContains("MAXSUBS", function() return deep("get") end) -- no method is meant
    local long = db.node("^t", ("x"):rep(1000))
    long:set(1)
    lu.assertEquals(long:incr(), 2)
    lu.assertErrorMsgContains("KEY2BIG", function() return long[("y"):rep(50)] end)
end

function TestNodes:test_locals_belong_to_the_state()
    local other = fixture.open()
    db.node("v", 1).__ = "local"
    lu.assertEquals(other.node("v", 1).__, "local")
    lu.assertTrue(other.node("v", 1) == db.node("v", 1))
    lu.assertFalse(other.node("^v", 1) == db.node("^v", 1)) -- another database, as far as one can tell
    lu.assertNil(db.node("^v", 1).__)
    other:close()
    lu.assertEquals(db.node("v", 1).__, "local")
    db.node("v"):kill()
    lu.assertEquals(db.node("v"):data(), 0)
end

fixture.run()
