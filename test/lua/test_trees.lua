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
        lu.assertEquals(node:name(), sub)
        depths[sub] = depth
        if sub == "deep" then return "cut", false end
        return value and value + 1, recurse
    end)
    lu.assertEquals(got, {a = 11, deep = "cut"})
    lu.assertEquals(depths, {a = 1, deep = 1})
end

function TestTrees:test_bad_trees_change_nothing_of_the_bad_entry()
    lu.assertErrorMsgContains("settree needs a table", n.settree, n, 5)
    lu.assertErrorMsgContains("can't be a table", n.settree, n, {__ = {}})
    lu.assertErrorMsgContains("value must be", n.settree, n, {a = true})
    lu.assertErrorMsgContains("subscript must be", n.settree, n, {[true] = 1})
    lu.assertEquals(n:data(), 0)
    lu.assertErrorMsgContains("maxdepth", n.gettree, n, {})
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
end

fixture.run()
