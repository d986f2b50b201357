-- settree, gettree, dump.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestTrees = {}

function TestTrees:setUp()
    db, n = fixture.fresh()
end

function TestTrees:tearDown()
    db:close()
end

function TestTrees:test_trees_round_trip()
    local tree = {__ = "top", a = {__ = "1", b = {c = "2"}}, [1] = "one", [2] = {x = "y"}, [""] = "",
        [".5"] = "h"}
    lu.assertEquals(n:settree(tree), n)
    lu.assertEquals(n:gettree(), tree)
    lu.assertEquals(n.a:gettree(), tree.a)
    lu.assertEquals(n.a.b.c.__, "2")
end

function TestTrees:test_delete_in_a_tree()
    n:settree {__ = 1, a = {__ = 1, b = 2}, c = {__ = 3, d = 4}}
    n:settree {__ = caret.DELETE, a = caret.DELETE, c = {__ = caret.DELETE}}
    lu.assertEquals(n:gettree(), {c = {d = "4"}})
end

function TestTrees:test_depth_is_limited()
    n:settree {__ = 0, a = {__ = 1, b = {__ = 2, c = 3}}}
    lu.assertEquals(n:gettree(0), {__ = "0"})
    lu.assertEquals(n:gettree(1), {__ = "0", a = "1"})
    lu.assertEquals(n:gettree(2), {__ = "0", a = {__ = "1", b = "2"}})
    lu.assertEquals(n:gettree(9), {__ = "0", a = {__ = "1", b = {__ = "2", c = "3"}}})
end

function TestTrees:test_filters()
    n:settree({a = 1, secret = 2, deep = {secret = 3, x = 4}}, function(node, key, value)
        lu.assertTrue(caret.isnode(node))
        if key == "secret" then return nil end
        if type(value) == "number" then value = value * 10 end
        return key, value
    end)
    lu.assertEquals(n:gettree(), {a = "10", deep = {x = "40"}})
    local depths = {}
    local got = n:gettree(nil, function(node, sub, value, recurse, depth)
        lu.assertEquals(depth == 0 and "" or node:name(), sub)
        depths[sub] = depth
        if sub == "deep" then return "cut", false end
        return value and value + 1, recurse
    end)
    lu.assertEquals(got, {a = 11, deep = "cut"})
    lu.assertEquals(depths, {[""] = 0, a = 1, deep = 1})
end

function TestTrees:test_filters_see_every_entry_of_a_table()
    local seen = {}
    n:settree({__ = 0, a = {__ = 1, [2] = "x"}}, function(node, key, value)
        seen[tostring(node) .. " " .. tostring(key)] = type(value)
        return key, value
    end)
    lu.assertEquals(seen, {["^t __"] = "number", ["^t a"] = "table", ['^t("a") __'] = "number",
        ['^t("a") 2'] = "string"})
    n:settree({a = {x = 1}, b = 1}, function(_, key, value)
        if key == "a" then return "c", {y = value.x} end
        if key == "b" then return "a", caret.DELETE end
        return key, value
    end)
    lu.assertEquals(n:gettree(), {__ = "0", c = {y = "1"}})
end

function TestTrees:test_filters_see_every_node_of_a_tree()
    n:settree {__ = "0", a = {__ = "1", b = "2"}, c = {d = {e = "3"}}}
    local seen = {}
    local got = n:gettree(2, function(node, sub, value, recurse, depth)
        seen[#seen + 1] = table.concat({depth, sub, tostring(value), tostring(recurse), tostring(node)}, " ")
        return value, recurse
    end)
    lu.assertEquals(seen, {"0  0 true ^t", '1 a 1 true ^t("a")', '2 b 2 false ^t("a","b")',
        '1 c nil true ^t("c")', '2 d nil false ^t("c","d")'})
    lu.assertEquals(got, {__ = "0", a = {__ = "1", b = "2"}})
    got = n:gettree(nil, function(_, sub, value, _, depth) -- a value may go and what is below stay
        return sub ~= "a" and value or nil, depth < 9
    end)
    lu.assertEquals(got, {__ = "0", a = {b = "2"}, c = {d = {e = "3"}}})
    lu.assertEquals(n:gettree(nil, function(_, _, value) return value end), {__ = "0"})
    lu.assertEquals(n:gettree(nil, function(_, _, _, recurse) return nil, recurse end), {})
end

function TestTrees:test_a_table_that_contains_itself_is_refused()
    local tree = {a = 1, b = {}}
    tree.b.c = tree
    lu.assertErrorMsgContains('contains itself, at ^t("b","c")', n.settree, n, tree)
    local shared = {x = 1}
    n:kill()
    n:settree {a = shared, b = {c = shared}} -- twice is fine
    lu.assertEquals(n:gettree(), {a = {x = "1"}, b = {c = {x = "1"}}})
end

function TestTrees:test_a_node_is_no_table()
    n.word.__ = "word"
    lu.assertErrorMsgContains("settree needs a table, not a node", n.x.__settree, n.x, n.word)
    lu.assertErrorMsgContains("value must be a string or a number, not a node", n.settree, n, {x = n.word})
    lu.assertEquals(n:gettree(), {word = "word"})
end

function TestTrees:test_the_deepest_tree()
    local tree = {}
    local bottom = tree
    for i = 1, 31 do
        bottom[i] = {}
        bottom = bottom[i]
    end
    bottom.__ = "at the bottom"
    n:settree(tree)
    local got = n:gettree()
    for i = 1, 30 do got = got[i] end
    lu.assertEquals(got, {[31] = "at the bottom"})
    bottom.below = 1
    lu.assertErrorMsgContains("MAXSUBS", n.settree, n, tree)
end

function TestTrees:test_two_keys_of_one_node_are_refused()
    lu.assertErrorMsgContains("two entries of a table mean ^t(1)", n.settree, n, {[1] = "a", ["1"] = "b"})
    lu.assertErrorMsgContains("two entries of a table mean ^t(.5)", n.settree, n, {[0.5] = "a", [".5"] = "b"})
    n:kill()
    n:settree {[1] = "a", ["01"] = "b", ["1.0"] = "c", ["0x1"] = "d", nan = 1}
    lu.assertEquals(n:gettree(), {[1] = "a", ["01"] = "b", ["1.0"] = "c", ["0x1"] = "d", nan = "1"})
    local function one(_, _, value) return 1, value end
    lu.assertErrorMsgContains("two entries of a table mean ^t(1)", n.settree, n, {a = 1, b = 2}, one)
    local function own(_, _, value) return "__", value end
    lu.assertErrorMsgContains("two entries of a table mean ^t", n.settree, n, {a = 1, b = 2}, own)
    n:kill()
    n:settree({{a = 1}, {b = 2}}, function(_, key, value)
        return type(key) == "number" and key or "x", value
    end)
    lu.assertEquals(n[1].x.__ .. n[2].x.__, "12") -- at different nodes it is fine
end

function TestTrees:test_errors_of_filters_pass()
    n:settree {a = 1, b = {c = 2}}
    local function bad() error("from the filter", 0) end
    lu.assertErrorMsgEquals("from the filter", n.settree, n, {x = 1}, bad)
    lu.assertErrorMsgEquals("from the filter", n.gettree, n, nil, bad)
    local done, why, name = db:tp(function()
        n:settree({x = 1, y = 2}, function(_, key, value)
            if key == "y" then caret.trollback() end
            return key, value
        end)
    end)
    lu.assertEquals({done, name}, {nil, "ROLLBACK"}, why)
    lu.assertEquals(n:gettree(), {a = "1", b = {c = "2"}})
    local yielding = coroutine.wrap(function()
        return n:__gettree(nil, function(_, _, value, recurse) -- n:gettree calls by way of C
            coroutine.yield("between")
            return value, recurse
        end)
    end)
    for _ = 1, 4 do lu.assertEquals(yielding(), "between") end
    lu.assertEquals(yielding(), {a = "1", b = {c = "2"}})
end

function TestTrees:test_delete_at_the_top()
    n:settree {__ = 1, a = 2}
    n:settree(caret.DELETE)
    lu.assertEquals(n:data(), 0)
end

function TestTrees:test_a_child_that_a_table_can_not_hold()
    n("__").__ = "x"
    lu.assertErrorMsgContains('a filter can leave out ^t("__")', n.gettree, n)
    lu.assertEquals(n:gettree(nil, function(_, sub, value) return sub ~= "__" and value or nil, true end), {})
end

function TestTrees:test_bad_trees_change_nothing_of_the_bad_entry()
    lu.assertErrorMsgContains("settree needs a table", n.settree, n, 5)
    lu.assertErrorMsgContains("can't be a table", n.settree, n, {__ = {}})
    lu.assertErrorMsgContains("value must be", n.settree, n, {a = true})
    lu.assertErrorMsgContains("subscript must be", n.settree, n, {[true] = 1})
    lu.assertEquals(n:data(), 0)
    lu.assertErrorMsgContains("maxdepth", n.gettree, n, {})
    lu.assertErrorMsgContains("filter is a function", n.settree, n, {}, "x")
    lu.assertErrorMsgContains("filter is a function", n.gettree, n, nil, {})
end

function TestTrees:test_dump_is_zwr()
    n.__ = "x"
    n[1]['a"b'].__ = "l\n"
    n[1].utf8.__ = "\195\164"
    lu.assertEquals(n:dump(), '^t="x"\n^t(1,"a""b")="l"_$C(10)\n^t(1,"utf8")="\195\164"')
    lu.assertEquals(n[1].utf8:dump(), '^t(1,"utf8")="\195\164"')
    lu.assertEquals(n.none:dump(), "")
end

function TestTrees:test_dump_stops_at_a_number_of_lines()
    for i = 1, 40 do n[i].__ = i end
    local _, lines = n:dump():gsub("\n", "")
    lu.assertEquals(lines, 30)
    lu.assertStrContains(n:dump(5), '^t(5)="5"\n...etc.')
    lu.assertNotStrContains(n:dump(40), "etc.")
    lu.assertEquals(n:dump(1.5), n:dump(2))
    lu.assertEquals(n:dump(-0.5), n:dump(0))
    lu.assertNotStrContains(n:dump(math.huge), "etc.")
end

fixture.run()
function TestTrees:test_a_failing_settree_stores_nothing()
    n.a.__ = "old"
    lu.assertErrorMsgContains("must be a string or a number", n.settree, n, {a = "new", b = {c = true}})
    lu.assertEquals(n:gettree(), {a = "old"})
    db:tp(function()
        n.x.__ = 1
        lu.assertFalse((pcall(n.settree, n, {a = "new", b = {c = print}})))
    end)
    lu.assertEquals(n:gettree(), {a = "old", x = "1"})
end

-- Another object of the same file sees a tree as a whole or not at all.
function TestTrees:test_a_settree_is_one_commit()
    local _, before = db:durable()
    n:settree {a = 1, b = {c = 2, d = 3}}
    local _, after = db:durable()
    n.a.__ = 2
    local _, later = db:durable()
    lu.assertTrue(after - before < 4 * (later - after) + 64)
    local many = {}
    for i = 1, 100 do many[i] = i end
    local sets = db:stat().commits
    n:settree(many)
    n:setjson '{"a": [1, 2, 3], "b": {"c": 4}}'
    lu.assertTrue(db:stat().commits - sets < 50)
end

function TestTrees:test_subtrees_are_merged_copied_moved_counted()
    n:settree {__ = 0, a = {__ = 1, b = 2}, [5] = {x = {y = 3}}}
    local to = db.node("^t2")
    to:kill()
    to.own.__ = "stays"
    lu.assertEquals(to:merge(n), to)
    lu.assertEquals(to:gettree(), {__ = "0", a = {__ = "1", b = "2"}, [5] = {x = {y = "3"}}, own = "stays"})
    lu.assertEquals(to:count(), 5)
    lu.assertEquals(n:copy_to(to), to)
    lu.assertEquals(to:gettree(), n:gettree())
    lu.assertEquals(to.a:move_to(to.z), to.z)
    lu.assertEquals(to:gettree(), {__ = "0", [5] = {x = {y = "3"}}, z = {__ = "1", b = "2"}})
    lu.assertEquals(to.a:count(), 0)
    lu.assertErrorMsgContains("is below", to.merge, to, to.z)
    lu.assertErrorMsgContains("a node was expected", to.merge, to, {})
    lu.assertErrorMsgContains("a node was expected", to.copy_to, to)
    to:kill()
end

function TestTrees:test_subtrees_go_to_locals_and_other_databases()
    n:settree {__ = 0, a = {__ = 1, b = ""}}
    local var, tree = db.node "var", n:gettree()
    lu.assertEquals(n:copy_to(var):gettree(), tree)
    n:kill()
    lu.assertEquals(var:move_to(n):gettree(), tree)
    lu.assertFalse(var:exists())
    local second = fixture.open()
    lu.assertEquals(second.node("^t", "deep"):merge(n.a):gettree(), tree.a)
    lu.assertEquals(n.deep:gettree(), tree.a)
    second:close()
end

function TestTrees:test_ends_and_existence()
    lu.assertNil(n:first())
    lu.assertFalse(n:exists())
    n:settree {[-1] = {x = 1}, a = 2}
    lu.assertEquals(n:first(), -1)
    lu.assertEquals(n:last(), "a")
    lu.assertTrue(n:exists())
    lu.assertTrue(n[-1]:exists())
    lu.assertFalse(n.b:exists())
end

function TestTrees:test_put_takes_a_path()
    lu.assertEquals(n:put("a", 1, "name", 7), 7)
    lu.assertEquals(n.a[1].name.__, "7")
    n:put({"a", 1}, "x")
    lu.assertEquals(n.a[1].__, "x")
    n:put("own")
    lu.assertEquals(n.__, "own")
    n:put("a", 1, nil)
    lu.assertNil(n.a[1].__)
    lu.assertErrorMsgContains("put needs a value", n.put, n)
    lu.assertErrorMsgContains("must be a string or a number", n.put, n, "a", print)
end

