-- Typed values (caret.typed): what comes back as it went in, what others read, what is refused.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local typed = require "caret.typed"
local db, n, raw

TestTyped = {}

function TestTyped:setUp()
    db, raw = fixture.fresh()
    n = typed.new(db)("^t")
end

function TestTyped:tearDown()
    db:close()
end

local values = {"", "x", "5", "-5", "05", ".5", "0.5", "1.", "1E5", "9E46", "-", ".", "\1", "\1s", "\1true",
    "\1{", "true", "\0\255", 0, 5, -5, 0.5, -0.25, 1 / 3, 0.1 + 0.2, 2 ^ 53, 2 ^ 60, 1e15, 1e22, 1e46, 1e100,
    1e-7, 1e-43, 2 ^ 63, -2 ^ 63,
    true, false, {}, {1, 2}, {1, nil, 3}, {nil, nil, "x"}, {a = 1, ["b c"] = {true,
        {x = "\n\"\\\\u0041\0\255"}}},
    {{}, {{}}}, {"5"}}

function TestTyped:test_values_come_back_as_they_went_in()
    for i, value in ipairs(values) do
        n[i].__ = value
        lu.assertEquals(n[i].__, value)
        lu.assertEquals(n[i]:get("default"), value)
        lu.assertEquals(type(n[i].__), type(value))
        lu.assertEquals(n:set(value), value)
        lu.assertEquals(n:get(), value)
    end
    local i = 0
    for _, value, name in n:pairs() do
        i = i + 1
        lu.assertEquals({value, name}, {values[i], i})
    end
    for _, value, name in n:range {from = 2, to = 9, reverse = true} do lu.assertEquals(value,
        values[name]) end
    for child, value in n:walk() do lu.assertEquals(value, values[child:name()]) end
    lu.assertEquals(n:get_many {1, 3, #values}, {[1] = "", [3] = "5", [#values] = {"5"}})
    n.__ = nil
    lu.assertEquals({n.__, n:get(false), n.none.__}, {nil, false, nil})
end

function TestTyped:test_numbers_do_not_depend_on_the_locale()
    local numbers = {0.5, {1.5, 2}, {x = -0.25}, {1.25e300, 1e-300}, 1 / 3}
    for i, value in ipairs(numbers) do n(1, i).__ = value end
    fixture.in_two_locales(function()
        for i, value in ipairs(numbers) do
            lu.assertEquals(n(1, i).__, value)
            n(2, i).__ = value
            lu.assertEquals(n(2, i).__, value)
        end
    end)
end

-- What is read from a text is written as that text again: so a number is read only from the text that Caret
-- writes for it, and everything else is a string.
local function check_text(text)
    raw.__ = text
    local value = n.__
    n.__ = value
    if raw.__ ~= text then lu.fail(("%q is read as %s, which is written as %q"):format(text,
        type(value), raw.__)) end
    return type(value)
end

function TestTyped:test_texts_come_back_as_they_were()
    local signs, texts, numbers = {"0", "1", "5", ".", "-", "+", " "}, {""}, 0
    for at = 1, 2801 do -- all of at most four of them are made longer by one
        for _, sign in ipairs(signs) do texts[#texts + 1] = texts[at] .. sign end
    end
    lu.assertEquals(#texts, 19608)
    for _, text in ipairs(texts) do
        numbers = numbers + (check_text(text) == "number" and 1 or 0)
    end
    lu.assertTrue(numbers > 300 and numbers < 1000, numbers)
    for _, text in ipairs {"123456789012345", "1234567890.12345", "-.123456789012345", "100000000000000"} do
        lu.assertEquals(check_text(text), "number")
    end
    for _, text in ipairs {"012345678901234", "1234567890.123450", "1e5", "0x10"} do
        lu.assertEquals(check_text(text), "string")
    end
end

function TestTyped:test_steps_know_types()
    lu.assertEquals({n:add("5")}, {true, nil})
    lu.assertEquals({n:add(true)}, {false, "5"})
    lu.assertEquals(n:swap(true), "5")
    lu.assertEquals(n:swap({1, {x = "y"}}), true)
    lu.assertEquals(n:swap(5), {1, {x = "y"}})
    lu.assertEquals({n:swap("\1"), n:swap(1)}, {5, "\1"})
    lu.assertEquals(n:put("a", 2, "7"), "7")
    lu.assertEquals({n.a[2].__, n:put(false), n.__}, {"7", false, false})
    lu.assertEquals({n:put("a", 2, nil), n.a[2].__}, {})
    lu.assertErrorMsgContains("test_typed.lua", function() n:put("a", print) end)
    for _, set in ipairs {n.__set, n.__swap, n.__add, n.__put} do
        lu.assertErrorMsgContains("a value must be a string, a number, a boolean or a table, not a function",
            set, n, print)
        lu.assertErrorMsgContains("or a table, not a node", set, n, n.a)
    end
    lu.assertErrorMsgContains("put needs a value", n.put, n)
end

function TestTyped:test_a_filter_is_a_function()
    for _, name in ipairs {"settree", "gettree"} do
        local ok, text = pcall(function() n["__" .. name](n, name == "settree" and {a = 1} or 1, 5) end)
        lu.assertFalse(ok)
        lu.assertStrMatches(text, ".*test_typed.lua:%d+: " .. name
            .. ": the filter is a function, not a number")
    end
end

function TestTyped:test_a_walk_tells_depth()
    n.a.b.__ = true
    local got = {}
    for _, value, name, depth in n:walk() do got[#got + 1] = {value or "none", name, depth} end
    lu.assertEquals(got, {{"none", "a", 1}, {true, "b", 2}})
end

function TestTyped:test_what_others_read()
    for _, case in ipairs {{5, "5"}, {0.5, ".5"}, {"x", "x"}, {"5", "\1s5"}, {true, "\1true"},
        {{1, nil, "x"}, '\1[1,null,"x"]'}, {{b = false, a = {}}, '\1{"a":{},"b":false}'}} do
        n.__ = case[1]
        lu.assertEquals(raw.__, case[2])
    end
    for _, case in ipairs {{"5", 5}, {".5", .5}, {"05", "05"}, {"x", "x"}} do
        raw.__ = case[1]
        lu.assertEquals(n.__, case[2])
    end
    -- what no float holds is text; what is stored for a float is that float
    for _, text in ipairs {"1E400", "1E-400", "-1E-400", ".30000000000000001", "1.2345678901234567E-320",
        ".12345678901234567", "1234567890123456.5123"} do
        raw.__ = text
        lu.assertEquals(n.__, text)
    end
    for _, float in ipairs {2 ^ 89, 2 ^ 122, -2 ^ 132, 2 ^ 50 + 0.25, 2 ^ -25, 0.1 + 0.2, 1 / 3,
        2 ^ -44, 2 ^ -1074, 2 ^ -1030, 2 ^ -1022, 1e300, 2 ^ 1023, 2 ^ -136, -1e-300, 5e-324 * 3,
        0.1, 123456.789, 2 ^ -24, 9007199254740991.5 / 4} do
        n.__ = float
        lu.assertEquals({type(n.__), n.__ == float}, {"number", true}, raw.__)
    end
    for _, text in ipairs {'\1["\\uzz41"]', '\1["\\u0141"]', '\1["\\u41"]',
        "\1{x", "\1[1,]", "\1[1", '\1["x]', "\1{1:2}", "\1[1]x", "\1[nul]", '\1{"a"}',
        "\1[1e]",
        "\1" .. ("["):rep(1e5), "123456789012345678901"} do
        raw.__ = text
        lu.assertEquals(n.__, text)
    end
end

function TestTyped:test_counting()
    n.a.__ = 5
    lu.assertEquals({n.a:incr(), n.a:incr(0.5), n.a.__, n.a:number()}, {6, 6.5, 6.5, 6.5})
    n.b:incr(3)
    lu.assertEquals({n.b.__, raw.b.__}, {3, "3"})
end

-- The encoding is told to nobody.
function TestTyped:test_number_of_what_is_not_a_number_raises()
    for _, case in ipairs {{true, "a boolean"}, {{1}, "a table"}, {"5", "the string '5'"}} do
        n.__ = case[1]
        local function number()
            local _ = n:number(0)
        end
        lu.assertErrorMsgContains("test_typed.lua", number)
        lu.assertErrorMsgContains("the value is " .. case[2] .. ", not a number", number)
    end
    n.__ = "x"
    lu.assertErrorMsgContains("the value 'x' is not a number", function() return n:number() end)
    n.__ = nil
    lu.assertEquals({n:number(3), n:number()}, {3})
end

-- A boolean, a table, a string that looks like a number: counting would take them for nothing.
function TestTyped:test_counting_on_what_is_not_a_number_raises()
    local all = fixture.open {values = "typed", sync = "off"}
    for _, case in ipairs {{true, "to a boolean"}, {false, "to a boolean"}, {{1}, "to a table"},
        {"5", "to the string '5'"}, {"\1x", "to the string"}} do
        n.__ = case[1]
        for _, count in ipairs {function() n:incr() end, function() n:incr(2) end,
            function() return n + 1 end, function() return n - 1 end, function() all:incr("^t") end,
            function() all:incr("^t", 5) end, function() all:incr(n, "2") end,
            function() return all.node("^t") + 1 end} do
            lu.assertErrorMsgContains("test_typed.lua", count)
            lu.assertErrorMsgContains("incr adds to a number, not " .. case[2], count)
        end
        lu.assertEquals(n.__, case[1])
    end
    n.__ = "five" -- as with other nodes
    lu.assertEquals({n:incr(), all:incr("^t", 5), (n + 1).__, (n - 0.5).__, (n - "-1").__, (n + "1").__,
        (n - "+2").__, (n - "2").__}, {1, 6, 7, 6.5, 7.5, 8.5, 6.5, 4.5})
    lu.assertErrorMsgContains("a node plus or minus nothing", function() return n + nil end)
    lu.assertErrorMsgContains("test_typed.lua", function() return n - true end)
    all:close()
end

function TestTyped:test_no_negative_zero()
    for _, zero in ipairs {-0.0, 0 * -1, tonumber("-0") or 0} do
        n.__ = zero
        n.a.__ = {zero}
        lu.assertEquals({1 / n.__, 1 / n.a.__[1]}, {math.huge, math.huge})
    end
end

-- What is in a table that is a value is a value of it, not a node: gettree and settree make nodes of tables.
function TestTyped:test_tables_go_through_trees_as_nodes()
    n.list.__ = {1, 2}
    local tree = n:gettree()
    lu.assertEquals(tree, {list = {1, 2}})
    n:kill()
    n:settree(tree)
    lu.assertEquals({n.list.__, n.list[1].__, n.list[2].__}, {nil, 1, 2})
    n.list.__ = {1, 2}
    n.list:copy_to(n.copy)
    lu.assertEquals({n.copy.__, n.copy[1].__}, {{1, 2}, 1})
end

-- Once 30,000 quotes took 12 seconds: for each all before it was cut out anew, which shows as memory.
function TestTyped:test_quotes_are_read_in_one_pass()
    local many = {('"'):rep(4000), ("\\"):rep(2001) .. '"', "", '"'}
    local text = typed.encode(many)
    lu.assertEquals(typed.decode(text), many)
    collectgarbage()
    collectgarbage "stop"
    local before = collectgarbage "count"
    typed.decode(text)
    local kilobytes = collectgarbage "count" - before
    collectgarbage "restart"
    lu.assertTrue(kilobytes < 1000, kilobytes)
end

-- In LuaJIT a NULL pointer equals nil; it is refused, as everything that is not a value is.
function TestTyped:test_pointers_are_refused()
    local ffi = rawget(_G, "jit") and require "ffi"
    lu.skipIf(not ffi, "this Lua has no pointers")
    local new = require "caret.cache".new
    for _, pointer in ipairs {ffi.cast("void *", 0), ffi.cast("void *", 1), ffi.new "int64_t"} do
        for _, node in ipairs {n, raw, db.node("local"), typed.new(db)("local")} do
            node:kill()
            node.__ = "there"
            for i, set in ipairs {function() node.__ = pointer end, function() node:set(pointer) end,
                function() node:put(pointer) end, function() node:put("a", pointer) end,
                function() node:swap(pointer) end, function() node.b:add(pointer) end,
                function() node:incr(pointer) end, function() return node + pointer end,
                function() node:settree {__ = pointer} end, function() node:settree {a = pointer} end,
                function() node.__ = {pointer} end, function() node.__ = {1, pointer, 2} end,
                function() node.__ = {a = pointer} end, function() db:set(node, pointer) end,
                function() node:settree({a = 1}, function(_, key) return key, pointer end) end,
                function() new(db, "^c"):set("a", pointer) end} do
                lu.assertErrorMsgContains("test_typed.lua", set)
                lu.assertEquals({i, node:get(), node:data()}, {i, "there", 1})
            end
        end
    end
end

function TestTyped:test_trees()
    n:settree {__ = true, a = 1, b = {c = "1", d = false}}
    lu.assertEquals(n:gettree(), {__ = true, a = 1, b = {c = "1", d = false}})
    lu.assertEquals(n:gettree(nil, function(_, _, value, recurse)
        if type(value) ~= "boolean" then value = nil end
        return value, recurse
    end), {__ = true, b = {d = false}})
    n.a.__ = {x = {1}}
    lu.assertEquals({n.a.__, n.a:data()}, {{x = {1}}, 1}) -- one value, no children
    n:settree({e = 0}, function(_, key, value) return key, value == 0 end)
    lu.assertEquals(n.e.__, true)
end

function TestTyped:test_classes_of_it()
    local new, class, super = caret.inherit((typed.new(db)))
    function class.get(node) return {super.get(node)} end
    new("^t").__ = true
    lu.assertEquals(new("^t").__, {true})
end

-- Opened with values = "typed": every way to a value knows types.
function TestTyped:test_a_database_of_typed_values()
    local all = fixture.open {values = "typed", sync = "off"}
    local node = all.node("^t")
    for i, value in ipairs(values) do
        lu.assertEquals(all:set("^t", i, value), value)
        lu.assertEquals({all:get("^t", i), node[i].__, n[i].__}, {value, value, value})
        all.node("local")[i].__ = value
        lu.assertEquals(all:get("local", i), value)
    end
    for _, value, name in all:node("^t"):pairs() do lu.assertEquals(value, values[name]) end
    for child, value in node:walk() do lu.assertEquals({value, child.__}, {values[child:name()], value}) end
    lu.assertEquals({all:get("^t", "none"), all:incr("^t", "n", 2), all:get("^t", "n")}, {nil, 2, 2})
    all:tp(function()
        node.a.__ = {true}
        lu.assertEquals({node.a.__, all:get("^t", "a")}, {{true}, {true}})
    end)
    all:snapshot(function() lu.assertEquals(all:get("^t", "a"), {true}) end)
    lu.assertEquals(raw.a.__, "\1[true]")
    lu.assertEquals({all:set("^t", "a", nil), node.a.__}, {})
    all:close()
end

function TestTyped:test_changes_of_a_database_of_typed_values()
    local all = fixture.open {values = "typed", sync = "off"}
    local feed = all:changes {wait = 0}
    all:set("^t", 1, "5")
    all.node("^t")[2].__ = {x = false}
    all:kill("^t")
    lu.assertEquals(feed:next().value, "5")
    local change = feed:next()
    lu.assertEquals({change.value, change.node:name(), change.kind}, {{x = false}, 2, "set"})
    lu.assertEquals(feed:next().value, nil)
    feed:close()
    all:close()
end

function TestTyped:test_classes_and_caches_of_such_a_database()
    local all = fixture.open {values = "typed", sync = "off"}
    local new, class, super = caret.inherit(all.node)
    function class.get(node) return {super.get(node)} end
    new("^t").__ = "5"
    lu.assertEquals({new("^t").__, n.__}, {{"5"}, "5"})
    local same = typed.new(all)("^t")
    same.__ = "7" -- not encoded twice
    lu.assertEquals({same.__, n.__, raw.__}, {"7", "7", "\1s7"})
    n:kill()
    local cache = require "caret.cache".new(all, "^t", {max_items = 3})
    for i = 1, 5 do
        for _, value in ipairs {"text", "5", 5, true, "\1"} do
            cache:set("k" .. i, value, 50)
            lu.assertEquals(cache:get("k" .. i), value)
        end
    end
    lu.assertEquals({cache:stats().items, (cache:incr("n", 2, 1))}, {3, 3})
    all:close()
    lu.assertErrorMsgContains("CLOSED", typed.new, all)
end

function TestTyped:test_what_makes_no_nodes()
    for _, wrong in ipairs {false, 5, "x", {}} do
        lu.assertErrorMsgContains("typed.new needs a database", typed.new, wrong)
    end
    lu.assertErrorMsgContains("not a nil", typed.new, nil)
    lu.assertErrorMsgContains("not a node", typed.new, n)
    lu.assertErrorMsgContains("test_typed.lua", function() typed.new(nil) end)
end

function TestTyped:test_what_is_refused()
    local cycle = {}
    cycle.a = {b = cycle}
    local deep, wide = {}, {}
    for _ = 1, 40 do deep = {deep} end
    for i = 1, 7000 do wide[i] = "0123456789" end
    n.__ = "before"
    for value, text in pairs {[cycle] = "contains itself", [{print}] = "a function", [deep] = "32 levels",
        [wide] = "65536 bytes", [{1, a = 1}] = "not both", [{[true] = 1}] = "not true",
            [{[1e9] = 1}] = "keys 1, 2",
        [{0 / 0}] = "nan", [{1 / 0}] = "inf", [{n}] = "a node", [print] = "not a function",
            [n] = "not a node"} do
        lu.assertErrorMsgContains(text, n.set, n, value)
    end
    lu.assertErrorMsgContains("test_typed.lua", function() n.__ = cycle end)
    lu.assertErrorMsgContains("set needs a value", n.set, n)
    lu.assertEquals(n.__, "before")
    local shared = {1}
    n.__ = {shared, shared}
    lu.assertEquals(n.__, {{1}, {1}})
end

fixture.keeps_many_objects()
fixture.run()
