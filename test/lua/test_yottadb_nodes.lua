-- Nodes, keys and subclasses of the module yottadb.
local lu = require "luaunit"
local ydb = require "yottadb"
local fixture = require "fixture"
local list, code_of = fixture.list, fixture.code_of

ydb.set("$ZGBLDIR", fixture.path)

local n

TestNodes = {}

function TestNodes:setUp()
    n = ydb.node("^t")
    n:kill()
    ydb.kill("t")
end

function TestNodes:test_children_by_dot_index_and_call()
    n.oak[3].shadow.__ = 10
    for _, m in ipairs {
        ydb.node("^t", {"oak", 3, "shadow"}), ydb.node("^t", "oak", "3", "shadow"), n("oak", 3)("shadow"),
        ydb.node(n, "oak")(3.0).shadow, n.oak["3"]["shadow"], ydb.node(n.oak, {3}, "shadow"),
    } do
        lu.assertEquals(m.__, "10")
        lu.assertTrue(m == n.oak[3].shadow)
        lu.assertEquals(tostring(m), '^t("oak",3,"shadow")')
        lu.assertTrue(ydb.isnode(m))
    end
    lu.assertFalse(ydb.isnode("^t"))
    lu.assertFalse(ydb.isnode({}))
    lu.assertFalse(n.oak == n.elm)
end

function TestNodes:test_the_value()
    lu.assertNil(n.__)
    n.__ = "v"
    lu.assertEquals({n.__, n:get(), n:__get()}, {"v", "v", "v"})
    n.__ = 2.5
    lu.assertEquals(n.__, "2.5")
    n.__ = 0.25
    lu.assertEquals(n.__, "0.25")
    lu.assertEquals(n:set(0.125), 0.125)
    lu.assertEquals(n:get(), "0.125")
    lu.assertEquals(n.a:get("default"), "default")
    n.a.__ = 1
    n.__ = nil
    lu.assertEquals({n.__ or "none", n.a.__}, {"none", "1"})
    n.a:set(nil)
    lu.assertNil(n.a.__)
    n.a.__ = 1
    n.a:set()
    lu.assertNil(n.a.__)
    local local_one = ydb.node("t", 1)
    local_one.__ = 7
    lu.assertEquals(ydb.get("t", 1), "7")
end

function TestNodes:test_increments_are_text()
    lu.assertEquals(n:incr(), "1")
    lu.assertEquals(n:incr(1.5), "2.5")
    lu.assertEquals(n:__incr("-5"), "-2.5")
    lu.assertEquals((n + 4).__, "1.5")
    lu.assertEquals((n - 1.5).__, "0")
    n.big.__ = "123456789012345678"
    lu.assertEquals(n.big:incr(), "123456789012345679")
    n.big.__ = "9E46"
    lu.assertEquals(code_of(function() n.big:incr("9E46") end), ydb.YDB_ERR_NUMOFLOW)
    lu.assertEquals(code_of(function() local _ = n.big + 9e46 end), ydb.YDB_ERR_NUMOFLOW)
end

function TestNodes:test_what_a_node_tells_of_itself()
    local m = n[1].oak(2.5)
    lu.assertEquals({m:name(), m:varname(), m:depth()}, {"2.5", "^t", 3})
    lu.assertEquals({m:__name(), m:__varname(), m:__depth()}, {"2.5", "^t", 3})
    lu.assertEquals(m:subsarray(), {"1", "oak", "2.5"})
    lu.assertEquals(n:subsarray(), {})
    lu.assertEquals(n[7]:name(), "7")
    lu.assertEquals(n:name(), "^t")
    lu.assertEquals(m:__repr(), tostring(m))
    lu.assertFalse(m:ismutable())
    lu.assertEquals(n.get:name(), "get")
end

function TestNodes:test_data()
    n.a.b.__ = 1
    lu.assertEquals({n.a:data(), n.a:has_value(), n.a:has_tree()}, {10, false, true})
    lu.assertEquals({n.a.b:data(), n.a.b:__has_value(), n.a.b:__has_tree()}, {1, true, false})
    n.a:kill()
    lu.assertEquals(n:__data(), 0)
    n.a.__ = 1
    n.a.b.__ = 1
    n.a:delete_node()
    lu.assertEquals(n.a:data(), 10)
    n.a:delete_tree()
    lu.assertEquals(n.a:data(), 0)
end

function TestNodes:test_subscripts_come_as_strings_in_order()
    for _, sub in ipairs {"b", 10, 9, -1, 0.5} do n[sub].__ = sub end
    lu.assertEquals(list(n:subscripts()), {"-1", ".5", "9", "10", "b"})
    lu.assertEquals(list(n:subscripts(true)), {"b", "10", "9", ".5", "-1"})
    lu.assertEquals(list(n:__subscripts(false)), {"-1", ".5", "9", "10", "b"})
    lu.assertEquals(list(n.none:subscripts()), {})
end

function TestNodes:test_pairs_gives_mutable_child_value_and_string()
    n[1].__ = "one"
    n[1].below.__ = 1
    n[2].below.__ = 2
    local seen, kept = {}, {}
    for child, value, sub in n:pairs() do
        lu.assertTrue(child:ismutable())
        lu.assertEquals(type(sub), "string")
        seen[#seen + 1] = tostring(child) .. "=" .. tostring(value) .. "," .. child.below.__
        kept[sub] = ydb.node(child)
    end
    lu.assertEquals(seen, {"^t(1)=one,1", "^t(2)=nil,2"})
    lu.assertFalse(kept["1"]:ismutable())
    lu.assertEquals({kept["1"].__, kept["2"].below.__}, {"one", "2"})
    local back = {}
    for _, _, sub in n:pairs(true) do back[#back + 1] = sub end
    lu.assertEquals(back, {"2", "1"})
    if _VERSION ~= "Lua 5.1" then
        local count = 0
        for _, value in pairs(n) do count = count + (value and 1 or 10) end
        lu.assertEquals(count, 11)
    end
end

function TestNodes:test_children_of_moving_nodes()
    for i = 1, 10 do n[i].x.__ = i end
    local kept = {}
    for child, _, sub in n:pairs() do
        for _ = 1, 4 do lu.assertEquals(child.x.__, sub) end
        child.y.__ = "y" .. sub
        kept[sub] = child.x
    end
    for i = 1, 10 do lu.assertEquals({n[i].y.__, kept[tostring(i)].__}, {"y" .. i, tostring(i)}) end
end

-- ------------------------------------------------------------------- trees

function TestNodes:test_trees_round_trip_with_string_keys()
    local tree = {__ = "berwyn", weight = "78", ["!@#$"] = "junk", list = {"a", "b"},
        appearance = {__ = "handsome", eyes = "blue", hair = "blond"}}
    n:settree(tree)
    lu.assertEquals(n.list[2].__, "b")
    tree.list = {["1"] = "a", ["2"] = "b"}
    lu.assertEquals(n:gettree(), tree)
    lu.assertEquals(n.appearance:gettree(), tree.appearance)
    lu.assertEquals(n.list:gettree(0), {["1"] = "a", ["2"] = "b"})
    lu.assertEquals(n:gettree(1), tree)
    lu.assertEquals(n:gettree(0), {__ = "berwyn", weight = "78", ["!@#$"] = "junk", appearance = "handsome"})
    n.appearance.eyes.left.__ = "green"
    lu.assertEquals(n:gettree(1), tree)
    tree.appearance.eyes = {__ = "blue", left = "green"}
    lu.assertEquals(n:gettree(2), tree)
    lu.assertEquals(n.none:gettree(), {})
end

function TestNodes:test_settree_deletes_values_only()
    n.a.__ = 1
    n.a.below.__ = 2
    n:settree {a = ydb.DELETE, b = {__ = ydb.DELETE, c = 1}, f = 0.5}
    lu.assertEquals(n:gettree(), {a = {below = "2"}, b = {c = "1"}, f = "0.5"})
end

function TestNodes:test_settree_filter()
    local seen = {}
    n:settree({a = 1, b = {c = 2, __ = 3}, drop = 4}, function(node, key, value)
        seen[#seen + 1] = tostring(node) .. ":" .. key
        if key == "drop" then return nil end
        if key == "c" then return "renamed", value * 10 end
        return key, value
    end)
    table.sort(seen)
    lu.assertEquals(seen, {'^t("b"):__', '^t("b"):c', "^t:a", "^t:b", "^t:drop"})
    lu.assertEquals(n:gettree(), {a = "1", b = {__ = "3", renamed = "20"}})
end

function TestNodes:test_settree_sets_no_node_twice()
    local function same() return "x", 1 end
    lu.assertErrorMsgContains('^t("x")', function() n:settree({a = 1, b = 2}, same) end)
    lu.assertErrorMsgContains("^t(1)", function() n:settree {"a", ["1"] = "b"} end)
    lu.assertErrorMsgContains("^t(1)", function() n:settree {{a = 1, __ = 2}, ["1"] = "b"} end)
    n:kill()
    n:settree {{a = 1}, ["1"] = {b = 2}, ["01"] = "c"} -- trees may meet as long as their nodes don't
    lu.assertEquals(n:gettree(), {["1"] = {a = "1", b = "2"}, ["01"] = "c"})
end

function TestNodes:test_settree_bad_input()
    lu.assertErrorMsgContains("can't be a table", function() n:settree {__ = {}} end)
    lu.assertErrorMsgContains("boolean", function() n:settree {a = true} end)
    lu.assertErrorMsgContains("boolean", function() n:settree {[true] = 1} end)
    lu.assertErrorMsgContains("#1 to 'gettree' (number expected", function() n:gettree("deep") end)
    lu.assertErrorMsgContains("#2 to 'gettree' (function expected", function() n:gettree(1, "x") end)
    lu.assertErrorMsgContains("#2 to 'settree' (function expected", function() n:settree({}, "x") end)
    n("__").__ = 1
    lu.assertErrorMsgContains('^t("__")', function() n:gettree() end)
    lu.assertEquals(n:gettree(nil, function() return nil, true end), {})
    lu.assertErrorMsgEquals("mine", function() n:settree({a = 1}, function() error("mine", 0) end) end)
end

function TestNodes:test_gettree_filter()
    n:settree {a = {__ = 1, deep = {er = 2}}, b = {c = 3}, d = 4}
    local seen = {}
    local tree = n:gettree(nil, function(node, sub, value, recurse, depth)
        seen[#seen + 1] = table.concat({tostring(node), sub, tostring(value), tostring(recurse), depth}, " ")
        if sub == "b" then return value, false end
        if sub == "d" then return "changed", recurse end
        return value, recurse
    end)
    lu.assertEquals(seen, {'^t  nil true 0', '^t("a") a 1 true 1', '^t("a","deep") deep nil true 2',
        '^t("a","deep","er") er 2 false 3', '^t("b") b nil true 1', '^t("d") d 4 false 1'})
    lu.assertEquals(tree, {a = {__ = "1", deep = {er = "2"}}, d = "changed"})
    tree = n:gettree(nil, function(_, _, value, recurse, depth)
        return depth == 1 and value or nil, recurse
    end)
    lu.assertEquals(tree, {a = {__ = "1"}, d = "4"})
    seen = {}
    lu.assertEquals(n:gettree(nil, function(node) seen[#seen + 1] = tostring(node) end), {}) -- as print
    lu.assertEquals(seen, {'^t', '^t("a")', '^t("a","deep")', '^t("a","deep","er")', '^t("b")', '^t("b","c")',
        '^t("d")'})
    lu.assertEquals(n:gettree(nil, function() return nil end), {})
end

function TestNodes:test_dump()
    n:settree {__ = 1, a = {"x"}}
    lu.assertEquals(n:dump(), '^t=1\n^t("a",1)="x"')
    lu.assertStrContains(n:__dump(1), '^t=1\n...etc')
end

-- ----------------------------------------------------------------- classes

function TestNodes:test_subclasses()
    local new, class, superclass = ydb.inherit(ydb.node)
    function class:get(...) return "<" .. tostring(superclass.get(self, ...)) .. ">" end
    function class:double() return self:get() .. self:get() end
    local c = new("^t", 1)
    c.a.__ = 0.5
    lu.assertEquals({c.a.__, c.a:double(), n[1].a.__}, {"<0.5>", "<0.5><0.5>", "0.5"})
    lu.assertEquals({c.a:incr(), c:name()}, {"1.5", "1"})
    lu.assertEquals(list(c:subscripts()), {"a"})
    lu.assertTrue(ydb.isnode(c))
    lu.assertErrorMsgContains("no method", function() n:double() end)
    local newer = ydb.inherit(new)
    lu.assertEquals(newer("^t", 1).a:double(), "<1.5><1.5>")
end

function TestNodes:test_methods_do_not_hide_subscripts()
    for _, name in ipairs {"get", "set", "incr", "pairs", "name", "settree", "lock", "subscripts"} do
        n[name].__ = name
        lu.assertEquals(n[name].__, name)
        lu.assertEquals(ydb.get("^t", name), name)
    end
end

function TestNodes:test_a_node_of_31_subscripts_has_methods()
    local subs = {}
    for i = 1, 31 do subs[i] = i end
    local deep = ydb.node("^t", subs)
    deep.__ = "v"
    lu.assertEquals({deep:get(), deep:name(), ydb.key("^t", subs):get()}, {"v", "31", "v"})
    lu.assertEquals(code_of(function() return deep.x end), ydb.YDB_ERR_MAXNRSUBSCRIPTS)
end

-- -------------------------------------------------------------------- keys

function TestNodes:test_keys_have_properties()
    local k = ydb.key("^t", {1})
    lu.assertEquals({k.name, k.data, k.has_value, k.has_tree}, {"1", 0, false, false})
    lu.assertNil(k.value)
    k.value = 0.5
    k("below").value = 2
    lu.assertEquals({k.value, k.data, k.has_value, k.has_tree}, {"0.5", 11, true, true})
    lu.assertEquals({k.__, k:get(), ydb.get("^t", 1)}, {"0.5", "0.5", "0.5"})
    lu.assertEquals({k.__varname, k.__subsarray, k("below").__subsarray}, {"^t", {"1"}, {"1", "below"}})
    lu.assertEquals({k:varname(), k:subsarray(), k:__name(), k:__depth()}, {"^t", {"1"}, "1", 1})
    lu.assertEquals(ydb.key("^t").__subsarray, {})
    k.__ = 3
    lu.assertEquals({k.value, ydb.key("^t").name}, {"3", "^t"})
    k.value = nil
    lu.assertEquals(k.data, 10)
    lu.assertErrorMsgContains("'data'", function() k.data = 1 end)
    lu.assertTrue(ydb.isnode(k))
    lu.assertEquals(tostring(k), "^t(1)")
end

function TestNodes:test_fields_can_be_set_on_a_key()
    local k, other = ydb.key("^t", {1}), ydb.key("^t", {1})
    k.note = "mine"
    k[5] = {1}
    lu.assertEquals({k.note, k[5]}, {"mine", {1}})
    lu.assertTrue(ydb.isnode(other.note))
    lu.assertEquals(n[1]:data(), 0)
end

function TestNodes:test_keys_have_methods_and_children()
    local k = ydb.key("^t")
    lu.assertEquals({k:set(5), k:get(), k:incr()}, {5, "5", "6"})
    k.a.value = 1
    lu.assertEquals({k.a.value, k("a").name, k:__get(), k:__name()}, {"1", "a", "6", "^t"})
    k:delete_node()
    lu.assertEquals(k.data, 10)
    k:delete_tree()
    lu.assertEquals(k.data, 0)
    lu.assertErrorMsgContains("no method", function() k:__nothing() end)
end

function TestNodes:test_keys_have_subclasses()
    local new, class, super = ydb.inherit(ydb.key)
    function class:double() return self.value * 2 end
    function class:get() return super.get(self) .. "0" end
    local key = new("^t", {"a"})
    key.value, key.note = 4, "n"
    lu.assertEquals({key.value, key.__, key:get(), key.note, key.name}, {"40", "40", "40", "n", "a"})
    lu.assertEquals({key:double(), key:__double(), ydb.get("^t", "a")}, {80, 80, "4"})
    lu.assertEquals(tostring(key.sub.sub), '^t("a","sub","sub")')
    local subs = {}
    for i = 1, 31 do subs[i] = i end
    local deepest = new("^t", subs)
    deepest.value = 1
    lu.assertEquals({deepest:double(), deepest:get(), deepest.value}, {20, "10", "10"})
    lu.assertError(function() return deepest.nothing end)
end

function TestNodes:test_keys_step_over_siblings()
    for i = 1, 4 do n[i].__ = i end
    local k = ydb.key("^t", {2})
    lu.assertEquals(list(k:subscripts()), {"3", "4"})
    lu.assertEquals(list(k:subscripts(true)), {"1"})
    lu.assertEquals({k:subscript_next(), k:subscript_next()}, {"3", "4"})
    lu.assertNil(k:subscript_next())
    lu.assertEquals(k:subscript_next(true), "3")
    lu.assertEquals(k:subscript_previous(true), "1")
    lu.assertNil(k:subscript_previous())
    lu.assertEquals(list(ydb.key("^t"):subscripts()), {"1", "2", "3", "4"}) -- of a variable: its children
    lu.assertEquals(list(ydb.key("^t"):subscripts(true)), {"4", "3", "2", "1"})
    local variable = ydb.key("^t")
    lu.assertEquals({variable:subscript_next(), variable:subscript_next()}, {"1", "2"})
    lu.assertEquals({variable:subscript_previous(), variable:subscript_previous(true)}, {"1", "4"})
    lu.assertEquals({variable:subscript_next(), variable:subscript_next(true)}, {nil, "1"})
    lu.assertNil(ydb.key("^none"):subscript_next())
    ydb.set("short", ("x"):rep(5000), 1) -- a local with a long subscript
    lu.assertEquals({ydb.key("short"):subscript_next()}, {("x"):rep(5000)})
    ydb.kill("short")
    local start = ydb.key("^t", {""})
    lu.assertEquals(list(start:subscripts()), {"1", "2", "3", "4"})
    lu.assertEquals(start:subscript_next(), "1")
    lu.assertEquals(start:subscript_previous(true), "4")
end

function TestNodes:test_a_million_keys_would_leave_nothing()
    local function keys()
        for i = 1, fixture.times(20000) do
            local k = ydb.key("^t", {i})
            k.note = i
            k:subscript_next()
        end
        return fixture.memory()
    end
    local before = keys() -- Lua's own table of strings has its size now
    lu.assertTrue(keys() - before < 200000) -- its size changes by 100 KB at times, the keys would take 2 MB
end

fixture.keeps_many_objects()
fixture.run(function() require("yottadb.database").current():close() end)
