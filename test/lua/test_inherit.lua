-- Subclasses of nodes.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestInherit = {}

function TestInherit:setUp()
    db, n = fixture.fresh()
end

function TestInherit:tearDown()
    db:close()
end

function TestInherit:test_get_and_set_are_overridden_everywhere()
    local gets, sets = 0, 0
    local new, class, super = caret.inherit(db.node)
    function class:get(...) gets = gets + 1; return super.get(self, ...) end
    function class:set(v) sets = sets + 1; return super.set(self, v) end
    local c = new("^t")
    c.a.__ = 1
    c.a:set(2)
    c.a:__set(3)
    lu.assertEquals(sets, 3)
    lu.assertEquals({c.a.__, c.a:get(), c.a:__get(), c.none:get("d")}, {"3", "3", "3", "d"})
    lu.assertEquals(gets, 4)
    lu.assertEquals({n.a.__, n.a:get()}, {"3", "3"})
    lu.assertEquals(gets, 4)
end

function TestInherit:test_plus_and_minus_call_an_overriding_incr()
    local got = {}
    local new, class, super = caret.inherit(db.node)
    local early = new("^t")
    early.a.__ = 1 -- which makes it a parent
    function class.incr(node, by) got[#got + 1] = by; return super.incr(node, by) end
    for _, c in ipairs {early, new("^t"), (caret.inherit(new))("^t")} do
        c.__ = 0
        lu.assertEquals({((c + 5) - 2.5).__, (c - "1").__, (c - "-1").__, (c - "+2").__},
            {"2.5", "1.5", "2.5", ".5"})
        lu.assertEquals(got, {5, -2.5, "-1", "1", "-2"})
        got = {}
    end
    lu.assertEquals({(n + 1).__, #got}, {"1.5", 0})
    local own = caret.inherit(new, {__add = function() return "sum" end})
    lu.assertEquals(own("^t") + 1, "sum")
    local least = math.mininteger or -2 ^ 53 -- luacheck: ignore 143
    lu.assertEquals((new("^t", "least") - least).__, ("%.0f"):format(-(least + 0.0)))
end

function TestInherit:test_what_never_calls_overrides()
    local new, class = caret.inherit(db.node)
    function class.get() error("get") end
    function class.set() error("set") end
    local c = new("^t")
    c:settree {a = 1, b = {c = 2}}
    lu.assertEquals(c.a:incr(), 2)
    lu.assertEquals(c.a:number(), 2)
    lu.assertEquals(c:gettree(), {a = "2", b = {c = "2"}})
    local values = {}
    for _, value, sub in c:pairs() do values[sub] = value end
    lu.assertEquals(values, {a = "2"})
end

function TestInherit:test_children_are_of_the_subclass()
    local new, class = caret.inherit(db.node)
    function class:hello(x) return tostring(self) .. x end
    local c = new("^t", 1)
    lu.assertEquals(c:hello("!"), "^t(1)!")
    lu.assertEquals(c.a.b:hello("!"), '^t(1,"a","b")!')
    lu.assertEquals(c[2]:hello("!"), "^t(1,2)!")
    lu.assertEquals(c("x", "y"):hello("!"), '^t(1,"x","y")!')
    lu.assertEquals(c:__hello("?"), "^t(1)?")
    c[1].__ = 1
    for child in c:pairs() do lu.assertEquals(child:hello("!"), "^t(1,1)!") end
    lu.assertErrorMsgContains("no method 'hello'", function() n:hello() end)
    lu.assertTrue(caret.isnode(c))
    lu.assertTrue(c == n[1])
end

-- Also by nodes that remember their children, and with them the methods that they were asked for.
function TestInherit:test_methods_that_are_changed_later()
    local new, class = caret.inherit(db.node)
    local new2, class2 = caret.inherit(new)
    local nodes = {new("^t"), new("^t"), new2("^t"), new2("^t").a}
    for _, node in ipairs(nodes) do
        for _ = 1, 3 do lu.assertEquals({node.a.b:__name(), node:__depth()}, {"b", node:depth()}) end
    end
    local function said()
        local got = {}
        for i, node in ipairs(nodes) do got[i] = {node:__depth(), node.a:__depth(), node:__depth()} end
        return got
    end
    function class:depth() return "first " .. self:name() end
    lu.assertEquals(said()[1], {"first ^t", "first a", "first ^t"})
    lu.assertEquals(said()[4], {"first a", "first a", "first a"})
    function class2.depth() return "second" end
    lu.assertEquals(said()[2], {"first ^t", "first a", "first ^t"})
    lu.assertEquals(said()[3], {"second", "second", "second"})
    class2.depth = nil
    lu.assertEquals(said()[4], {"first a", "first a", "first a"})
    class.depth = nil
    lu.assertEquals(said(), {{0, 1, 0}, {0, 1, 0}, {0, 1, 0}, {1, 2, 1}})
    function class.more() return "more" end
    for _, node in ipairs(nodes) do lu.assertEquals({node:__more(), node:__more()}, {"more", "more"}) end
    class.more = nil
    for _, node in ipairs(nodes) do
        lu.assertErrorMsgContains("no method 'more'", function() node:__more() end)
    end
    lu.assertEquals({n:__depth(), n.a:__depth()}, {0, 1})
end

-- A constructor may give the very node that it got.
function TestInherit:test_a_moving_node_becomes_one_of_the_class()
    local as_oak, oak = caret.inherit(function(node) return node end)
    function oak.rings(node) return 2 * node:number() end
    for i = 1, 3 do n[i].__, n[i].below.__ = i, 10 end
    local function rings(...)
        local got = {}
        for node in ... do
            lu.assertTrue(rawequal(as_oak(node), node))
            got[#got + 1] = node:rings()
            lu.assertEquals(node.below:rings(), 20)
            if #got > 3 then break end
        end
        return got
    end
    lu.assertEquals(rings(n:pairs()), {2, 4, 6})
    lu.assertEquals(rings(n:pairs(true)), {6, 4, 2})
    lu.assertEquals(rings(n:range {from = 2}), {4, 6})
    local c = as_oak(n:cursor(1))
    lu.assertEquals({c:rings(), c:move(3):rings(), c.below:rings()}, {2, 6, 20})
end

function TestInherit:test_subclasses_of_subclasses()
    local new, class, super = caret.inherit(db.node)
    local new2, class2, super2 = caret.inherit(new)
    function class:get() return "<" .. super.get(self) .. ">" end -- after the subclass was made
    local c, c2 = new("^t"), new2("^t")
    n.__ = "v"
    lu.assertEquals({c.__, c2.__, c2:get()}, {"<v>", "<v>", "<v>"})
    function class2:get() return "[" .. super2.get(self) .. "]" end
    lu.assertEquals({c.__, c2.__, c2:get(), c2:__get()}, {"<v>", "[<v>]", "[<v>]", "[<v>]"})
    local new3 = caret.inherit(new2)
    lu.assertEquals(new3("^t").__, "[<v>]")
    lu.assertEquals(new3("^t"):get(), "[<v>]")
    function class:own() return 1 end
    lu.assertEquals(new3("^t").x:own(), 1)
end

function TestInherit:test_overriding_after_nodes_were_made()
    local new, class = caret.inherit(db.node)
    local c = new("^t")
    c.a.__ = "v"
    lu.assertEquals({c.a.__, c.a:get()}, {"v", "v"})
    function class.get() return "late" end
    lu.assertEquals({c.a.__, c.a:get()}, {"late", "late"})
    class.get = nil
    lu.assertEquals({c.a.__, c.a:get()}, {"v", "v"})
end

-- A node that was asked for a child has changed to a metatable of its own kind.
function TestInherit:test_a_node_with_children_heeds_what_is_overridden_later()
    local new, class, super = caret.inherit(db.node)
    function class:get(...) return super.get(self, ...) end
    local c = new("^t")
    c.__ = 1
    lu.assertNil(c.x.__)
    function class:set(v) return super.set(self, v * 10) end
    function class:incr(by) return super.incr(self, by * 100) end
    local _ = c + 1
    lu.assertEquals(c.__, "101")
    _ = c - 1
    lu.assertEquals(c.__, "1")
    c.__ = 2
    lu.assertEquals({c.__, c.x.__}, {"20"})
end

-- A node that remembers children by name has a metatable of its own.
function TestInherit:test_a_node_that_remembers_heeds_what_is_overridden_later()
    for _, first in ipairs {"none", "get", "set", "incr"} do
        local new, class, super = caret.inherit(db.node)
        if first ~= "none" then class[first] = function(at, ...) return super[first](at, ...) end end
        local c = new("^t")
        c.__ = 1
        lu.assertEquals({c.y.__, c.z.__, c.y.__, c.z.__, c.y.__}, {})
        function class:incr(by) return super.incr(self, by * 100) end
        local _ = c + 1
        lu.assertEquals({first, c.__}, {first, "101"})
        _ = c - 1
        lu.assertEquals({first, c.__}, {first, "1"})
        lu.assertErrorMsgContains("a number, or its text", function() return c + {} end)
    end
end

function TestInherit:test_any_method_can_be_overridden()
    local new, class, super = caret.inherit(db.node)
    function class:incr(by) return super.incr(self, (by or 1) * 10) end
    function class.settree() return "own" end
    local c = new("^t")
    lu.assertEquals({c.x:incr(2), c:settree {}}, {20, "own"})
end

function TestInherit:test_a_metatable_of_ones_own()
    local new = caret.inherit(db.node, {__len = function() return 7 end, __concat = function() return "c" end,
        __tostring = function() return "mine" end})
    local c = new("^t")
    lu.assertEquals(c .. "", "c")
    lu.assertEquals(tostring(c.a), "mine")
    c.a.__ = 5
    lu.assertEquals(c.a.__, "5")
end

function TestInherit:test_metamethods_are_inherited()
    local new = caret.inherit(db.node, {__len = function() return 7 end,
        __concat = function() return "c" end})
    local new2, class2 = caret.inherit(new, {__concat = function() return "c2" end})
    function class2.get() return "got" end
    local new3 = caret.inherit(new2)
    lu.assertEquals({new("^t") .. "", new2("^t") .. "", new3("^t").x .. "", new3("^t").x.__},
        {"c", "c2", "c2", "got"})
    local len = debug.getmetatable(new3("^t")).__len -- Lua 5.1 never calls that of a table
    lu.assertEquals(len(), 7)

    local indexed = caret.inherit(db.node, {__index = function(_, key) return key .. "!" end})
    local indexed2, class = caret.inherit(indexed)
    function class.get() return "hidden" end
    lu.assertEquals({indexed2("^t").x, indexed2("^t").__}, {"x!", "__!"})
end

function TestInherit:test_the_superclass_is_not_to_be_changed()
    local _, _, super = caret.inherit(db.node)
    lu.assertErrorMsgContains("inherit", function() super.get = print end)
    lu.assertErrorMsgContains("function that makes nodes", caret.inherit, 5)
end

function TestInherit:test_errors_in_overrides_pass()
    local new, class = caret.inherit(db.node)
    function class.get() error("mine", 0) end
    lu.assertEquals({pcall(function() return new("^t").__ end)}, {false, "mine"})
end

fixture.run()
