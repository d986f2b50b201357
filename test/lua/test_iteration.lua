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

local list = fixture.list

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

function TestIteration:test_get_many()
    local subs, expected = {}, {}
    for i = 1, 100 do
        subs[i] = i * 7 % 101
        if i % 3 ~= 0 then
            n[subs[i]].__ = "v" .. i
            expected[subs[i]] = "v" .. i
        end
    end
    subs[101], subs[102], expected.long = "long", "only children", ("x"):rep(70000)
    n.long.__, n["only children"].below.__ = expected.long, 1
    lu.assertEquals(n:get_many(subs), expected)
    lu.assertEquals(n:get_many {}, {})
    db:transaction(function()
        n[7].__, expected[7] = "changed", "changed"
        n[14]:kill()
        expected[14] = nil
        lu.assertEquals(n:get_many(subs), expected)
    end)()
    local loc = db.node("loc")
    loc.a.__ = 1
    lu.assertEquals(loc:get_many {"a", "b", 1.5}, {a = "1"})
    loc:kill()
end

-- A step of pairs gives key and value at once: of children with and without values, long ones, both ways.
function TestIteration:test_pairs_give_the_values()
    local expected, order = {}, {}
    for i = 1, 120 do
        if i % 5 == 0 then
            n[i].below.__ = 1
        else
            n[i].__ = i % 17 == 0 and ("x"):rep(70000 + i) or "v" .. i
        end
        if i % 7 == 0 then n[i].deep.er.__ = 2 end
        expected[i], order[i] = n[i].__ or false, i
    end
    for _, back in ipairs {false, true} do
        local values, subs = {}, {}
        for child, value, sub in n:pairs(back) do
            lu.assertEquals(child.__, value)
            values[sub], subs[#subs + 1] = value or false, sub
        end
        lu.assertEquals(values, expected)
        lu.assertEquals(subs, back and reversed(order) or order)
    end
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

-- By whatever iterator, a child of the moving node is below where that is now, and stays there.
function TestIteration:test_children_of_moving_nodes()
    local wide = ("wide"):rep(40) -- the cursor becomes another one on the way
    for i = 1, 10 do n[i].x.__ = i end
    n[wide].x.__ = 11
    local function check(what, ...)
        local kept = {}
        for node, _, _, level in ... do
            if level ~= 2 then
                local i = node:name() == wide and 11 or node:name()
                for _ = 1, 4 do lu.assertEquals(node.x:number(), i, what) end
                node.y.__ = what
                lu.assertEquals(n(node:name()).y.__, what)
                kept[#kept + 1] = {i, node.x, node("x"), node[3]}
            end
        end
        lu.assertEquals(#kept, 11, what)
        for _, k in ipairs(kept) do
            lu.assertEquals({k[2]:number(), k[3]:number()}, {k[1], k[1]}, what)
            lu.assertTrue(k[4] == n(k[1] == 11 and wide or k[1])(3), what)
        end
    end
    check("pairs", n:pairs())
    check("back", n:pairs(true))
    check("range", n:range())
    check("to", n:range {to = wide, reverse = true})
    check("walk", n:walk(1))
    check("deep", n:walk())
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

local function steps(...)
    local got = {}
    for child, value, sub, depth in ... do
        lu.assertTrue(child:ismutable())
        lu.assertEquals(child:name(), sub)
        lu.assertEquals(child:get(), value)
        got[#got + 1] = depth and depth .. ":" .. sub or sub
    end
    return got
end

function TestIteration:test_a_range_of_children()
    for _, s in ipairs {"", -1, 0.5, 9, 10, "a", "b"} do n[s].__ = 1 end
    n[11].below.__ = 1
    local all = {"", -1, ".5", 9, 10, 11, "a", "b"}
    lu.assertEquals(steps(n:range()), all)
    lu.assertEquals(steps(n:range {}), all)
    lu.assertEquals(steps(n:range {reverse = true}), reversed(all))
    lu.assertEquals(steps(n:range {from = 9, to = 11}), {9, 10, 11})
    lu.assertEquals(steps(n:range {from = 9, to = 11, reverse = true}), {11, 10, 9})
    lu.assertEquals(steps(n:range {from = 1, to = 10.5}), {9, 10})
    lu.assertEquals(steps(n:range {from = 1, to = 10.5, reverse = true}), {10, 9})
    lu.assertEquals(steps(n:range {from = "10", to = "azz"}), {10, 11, "a"})
    lu.assertEquals(steps(n:range {from = 11}), {11, "a", "b"})
    lu.assertEquals(steps(n:range {to = ""}), {""})
    lu.assertEquals(steps(n:range {to = 0, reverse = true}), {-1, ""})
    lu.assertEquals(steps(n:range {from = 10, to = 9}), {})
    lu.assertEquals(steps(n:range {from = 10, to = 9, reverse = true}), {})
    lu.assertEquals(steps(n:range {from = "c"}), {})
    lu.assertEquals(steps(n.none:range {from = 1, to = 2}), {})
end

function TestIteration:test_a_range_before_its_end()
    for _, s in ipairs {"", -1, 9, 10, "a", "b"} do n[s].__ = 1 end
    n[11].below.__ = 1
    lu.assertEquals(steps(n:range {from = 9, before = 11}), {9, 10})
    lu.assertEquals(steps(n:range {from = 9, before = 11, reverse = true}), {10, 9})
    lu.assertEquals(steps(n:range {before = "aa"}), {"", -1, 9, 10, 11, "a"})
    lu.assertEquals(steps(n:range {before = "b", reverse = true, limit = 2}), {"a", 11})
    lu.assertEquals(steps(n:range {before = ""}), {})
    lu.assertEquals(steps(n:range {before = "", reverse = true}), {})
    lu.assertEquals(steps(n:range {from = 10, before = 10}), {})
    lu.assertEquals(steps(n:range {from = 10, before = 10, reverse = true}), {})
end

-- What begins with the prefix, by looking at each.
local function by_looking(prefix, reverse)
    local found = {}
    for _, _, sub in n:pairs(reverse) do
        local number = type(sub) == "number" or sub:find "^%-?%d*%.?%d+$" and tostring(n(sub)):find '"' == nil
        if not number and sub ~= "" and sub:sub(1, #prefix) == prefix then found[#found + 1] = sub end
    end
    return found
end

local strange = {"", 0, 1, 12, 100, -1, 1.5, .15, "1e3", "01", "010", "1.", "-", "-x", "1.50", "a", "a\0",
    "a\0b", "a\1", "a\1b", "a\255", "a\255\255b", "ab", "b", "\255", "\255\255", "\255a", "1\255",
    ("1"):rep(19), "1 ", "12a"}
local prefixes = {"", "0", "1", "10", "01", "1.", "1.5", ".", "-", "-1", "a", "a\0", "a\1", "a\255", "\255",
    "\255\255", "b", "c", "1 "}

function TestIteration:test_ranges_by_prefix()
    for _, sub in ipairs(strange) do n(sub).__ = "v" end
    n("axe", "deep").__ = 1
    for _, prefix in ipairs(prefixes) do
        for _, reverse in ipairs {false, true} do
            local all = by_looking(prefix, reverse)
            lu.assertEquals(steps(n:range {prefix = prefix, reverse = reverse}), all, prefix)
            local two = steps(n:range {prefix = prefix, reverse = reverse, limit = 2})
            lu.assertEquals(two, {all[1], all[2]}, prefix)
        end
    end
    lu.assertEquals(steps(n.none:range {prefix = "a"}), {})
    lu.assertEquals(steps(n:range {prefix = "axe"}), {"axe"}) -- without a value
    local step = n:range {prefix = "b"}
    n.b:kill()
    n.bb.__ = 1
    lu.assertEquals(tostring((step())), '^t("bb")')
    lu.assertNil(step())
end

local function left_over()
    local subs = {}
    for sub in n:subscripts() do subs[#subs + 1] = sub end
    return subs
end

function TestIteration:test_a_range_is_killed()
    for _, prefix in ipairs(prefixes) do
        n:kill()
        for _, sub in ipairs(strange) do n(sub).below.__ = "v" end
        local gone = {}
        for _, sub in ipairs(by_looking(prefix)) do gone[sub] = true end
        local stays = {}
        for sub in n:subscripts() do if not gone[sub] then stays[#stays + 1] = sub end end
        n:kill_range {prefix = prefix}
        lu.assertEquals(left_over(), stays, prefix)
    end
    for from = 0, 3 do
        for to = 1, 4 do
            n:kill()
            n:settree {__ = "root", [1] = "a", [2] = {x = "b"}, [3] = "c", [3.5] = "d", s = "e"}
            n:kill_range {from = from, before = to}
            local whole = {1, 2, 3, "3.5", "s"}
            for i = #whole, 1, -1 do
                local v = tonumber(whole[i]) or 1 / 0
                if v >= from and v < to then table.remove(whole, i) end
            end
            lu.assertEquals(left_over(), whole)
            n:kill_range {to = to}
            n:kill_range {from = "a"}
            for i = #whole, 1, -1 do
                if (tonumber(whole[i]) or 0) <= to then table.remove(whole, i) end
            end
            lu.assertEquals(left_over(), whole)
            lu.assertEquals(n.__, "root")
        end
    end
    local l = db.node("locals")
    for i = 1, 9 do l[i].__ = i end
    db:tp(function()
        l:kill_range {from = 2, to = 8}
        n:kill_range {to = 99}
    end)
    lu.assertEquals(l:count(), 2)
    l:kill()
end

function TestIteration:test_a_range_has_a_limit()
    for i = 1, 20 do n[i].__ = i end
    lu.assertEquals(steps(n:range {limit = 3}), {1, 2, 3})
    lu.assertEquals(steps(n:range {limit = 0}), {})
    lu.assertEquals(steps(n:range {limit = 2, reverse = true, to = 5}), {5, 4})
    lu.assertEquals(steps(n:range {limit = 9, from = 19}), {19, 20})
    local step = n:range {limit = 1}
    lu.assertEquals(select(3, step()), 1)
    lu.assertNil(step())
    lu.assertNil(step())
    step = n:range {to = 1}
    step()
    lu.assertNil(step())
    n[1.5].__ = 1
    lu.assertNil(step())
end

function TestIteration:test_a_range_of_what_is_changed_meanwhile()
    for i = 1, 50 do n[i].__ = i end
    for child in n:range {from = 10, to = 40} do child:kill() end
    lu.assertEquals(#list(n:subscripts()), 19)
    for child in n:range {reverse = true} do child:kill() end
    lu.assertEquals(n:data(), 0)
end

function TestIteration:test_a_walk_goes_depth_first()
    n:settree {__ = "top", [1] = "x", [2] = {__ = "y", a = {b = {c = "z"}}, d = "w"}, e = {f = "v"}}
    lu.assertEquals(steps(n:walk()), {"1:1", "1:2", "2:a", "3:b", "4:c", "2:d", "1:e", "2:f"})
    lu.assertEquals(steps(n:walk(2)), {"1:1", "1:2", "2:a", "2:d", "1:e", "2:f"})
    lu.assertEquals(steps(n:walk(1)), {"1:1", "1:2", "1:e"})
    lu.assertEquals(steps(n:walk(0)), {})
    lu.assertEquals(steps(n[2]:walk(1e300)), {"1:a", "2:b", "3:c", "1:d"})
    lu.assertEquals(steps(n[1]:walk()), {})
    lu.assertEquals(steps(n.none:walk()), {})
    local step = n[1]:walk()
    step()
    lu.assertNil(step())
end

function TestIteration:test_a_walk_to_the_deepest_node()
    local deep = n
    for i = 1, 31 do deep = deep[i] end
    deep:__set(1)
    lu.assertEquals(#steps(n:walk()), 31)
end

-- The same by recursion: "depth:sub=value" of all below a node, to that many levels.
local function recursed(node, levels, depth, out)
    if levels == 0 then return out end
    for sub in node:subscripts() do
        local child = node(sub)
        out[#out + 1] = ("%d:%s=%s"):format(depth, tostring(sub), tostring(child.__))
        recursed(child, levels - 1, depth + 1, out)
    end
    return out
end

local function walked(node, levels)
    local out = {}
    for child, value, sub, depth in node:walk(levels) do
        lu.assertEquals(child.__, value)
        out[#out + 1] = ("%d:%s=%s"):format(depth, tostring(sub), tostring(value))
    end
    return out
end

-- Nodes without values above others, and neighbours of all levels; then the same in a transaction.
function TestIteration:test_a_walk_says_what_recursion_says()
    local seed = 1
    local function random(m)
        seed = seed * 16807 % 2147483647
        return seed % m + 1
    end
    local function grow(count)
        for i = 1, count do
            local node = n
            for _ = 1, random(5) do
                node = node(random(2) == 1 and random(9) or ("k"):rep(random(30)))
            end
            node.__ = random(9) == 1 and ("long"):rep(700) or i
        end
    end
    local function check()
        for levels = 0, 6 do lu.assertEquals(walked(n, levels), recursed(n, levels, 1, {})) end
        for sub in n:subscripts() do lu.assertEquals(walked(n(sub)), recursed(n(sub), 99, 1, {})) end
    end
    grow(60)
    check()
    db:transaction(function()
        grow(60)
        n[5]:kill()
        check()
    end)()
    check()
end

-- What is at a bound is looked at: with a value, without one, with nothing; and ends are the end.
function TestIteration:test_bounds_with_and_without_values()
    for i = 1, 9 do (i % 3 == 0 and n[i].below or n[i]).__ = i end
    n[5]:kill()
    for from = 0, 10 do
        for to = 0, 10 do
            local up, down, expected = {}, {}, {}
            for i = math.max(from, 1), math.min(to, 9) do
                if i ~= 5 then expected[#expected + 1] = i .. (i % 3 == 0 and "nil" or i) end
            end
            for _, v, sub in n:range {from = from, to = to} do up[#up + 1] = sub .. tostring(v) end
            local step = n:range {from = from, to = to, reverse = true}
            for _, v, sub in step do down[#down + 1] = sub .. tostring(v) end
            lu.assertEquals(up, expected)
            lu.assertEquals(down, reversed(expected))
            lu.assertNil(step())
        end
    end
end

function TestIteration:test_a_walk_through_what_is_killed_meanwhile()
    for i = 1, 9 do n[i].a.b.__ = i end
    local seen = 0
    for child, _, _, depth in n:walk() do
        seen = seen + 1
        if depth == 2 then child:kill() end
    end
    lu.assertEquals(seen, 18)
    lu.assertEquals(n:data(), 0)
end

function TestIteration:test_subscripts_of_any_length()
    local names = {1}
    for _, len in ipairs {3, 70, 1, 300, 990, 2} do
        names[#names + 1] = ("%c"):format(96 + #names) .. ("x"):rep(len)
    end
    for _, name in ipairs(names) do n[name].__ = #tostring(name) end
    lu.assertEquals(list(n:subscripts()), names)
    lu.assertEquals(list(n:subscripts(true)), reversed(names))
    for _, back in ipairs {false, true} do
        local expected = back and reversed(names) or names
        for _, iterator in ipairs {n:pairs(back), n:range {reverse = back}, not back and n:walk() or nil} do
            local got = {}
            for child, value, sub in iterator do
                lu.assertTrue(child:ismutable())
                lu.assertEquals(child:name(), sub)
                lu.assertEquals(value, tostring(#tostring(sub)))
                got[#got + 1] = sub
            end
            lu.assertEquals(got, expected)
        end
    end
end

function TestIteration:test_a_walk_with_long_subscripts_at_every_place()
    local long = ("l"):rep(100)
    n:settree {[1] = {a = {b = "c"}}, [long] = {[long] = {[long] = "d"}, z = "e"}, m = {[long] = "f"},
        q = {[long .. "2"] = {x = "g"}, y = "h"}, [("z"):rep(150)] = "i"}
    local values = {}
    for child, value in n:walk() do
        lu.assertEquals(child:get(), value)
        values[#values + 1] = value
    end
    lu.assertEquals(table.concat(values), "cdefghi")
end

function TestIteration:test_names_of_variables()
    for name in db:variables() do db.node(name):kill() end
    lu.assertEquals(list(db:variables()), {})
    for _, name in ipairs {"^t", "^a", "^" .. ("z"):rep(31), "^t1", "^Z", "local1"} do
        db.node(name, "x", 1).__ = 1
    end
    lu.assertEquals(list(db:variables()), {"^Z", "^a", "^t", "^t1", "^" .. ("z"):rep(31)})
    lu.assertEquals(list(db:variables(true)), {"local1"})
    for name in db:variables() do db.node(name):kill() end -- also of what is killed meanwhile
    lu.assertEquals(list(db:variables()), {})
    db.node("local1"):kill()
    lu.assertEquals(list(db:variables(true)), {})
end

function TestIteration:test_bad_arguments_of_iterators()
    lu.assertErrorMsgContains("the options of range are a table", function() n:range(5) end)
    lu.assertErrorMsgContains("no option 'form'", function() n:range {form = 1} end)
    lu.assertErrorMsgContains("no option 1;", function() n:range {"x"} end)
    lu.assertErrorMsgContains("subscript must be", function() n:range {from = {}} end)
    lu.assertErrorMsgContains("KEY2BIG", function() n:range {to = ("x"):rep(2000)} end)
    lu.assertErrorMsgContains("limit", function() n:range {limit = -1} end)
    lu.assertErrorMsgContains("limit", function() n:range {limit = "3"} end)
    lu.assertErrorMsgContains("number of levels", function() n:walk("x") end)
    lu.assertErrorMsgContains("number of levels", function() n:walk(0 / 0) end)
end

fixture.keeps_many_objects()
fixture.run()
