-- Local variables with subscripts that are too long for a key.
local lu = require "luaunit"
local ydb = require "yottadb"
local c = require "_yottadb"
local fixture = require "fixture"
local list, code_of = fixture.list, fixture.code_of

ydb.set("$ZGBLDIR", fixture.path)

TestLong = {}

function TestLong:setUp()
    c.delete_excl()
end

local MAX = ydb.YDB_MAX_STR
local huge = ("b"):rep(MAX)

function TestLong:test_subscripts_of_a_mebibyte()
    lu.assertEquals({ydb.get("t", {huge}) or "none", ydb.data("t", {huge})}, {"none", 0})
    ydb.kill("t", {huge})
    ydb.delete_node("t", huge)
    lu.assertNil(ydb.subscript_next("t", {huge}))
    lu.assertNil(ydb.node_next("t", {huge}))
    lu.assertEquals(ydb.set("t", {huge}, "v"), "v")
    lu.assertEquals(ydb.set("t", {huge, 0.5}, 0.25), 0.25)
    lu.assertEquals({ydb.get("t", huge), ydb.get("t", {huge}, 0.5), ydb.data("t", huge)}, {"v", "0.25", 11})
    lu.assertEquals(ydb.incr("t", {huge, 0.5}, 1), "1.25")
    lu.assertEquals(ydb.incr("t", {huge, "new"}), "1")
    lu.assertEquals(ydb.subscript_next("t", {""}), huge)
    lu.assertEquals(ydb.node_next("t"), {huge})
    lu.assertEquals({ydb.data("t"), ydb.data("u")}, {10, 0})
    for _, f in ipairs {ydb.get, ydb.data, ydb.kill, ydb.subscript_next, ydb.node_next, ydb.incr} do
        lu.assertEquals(code_of(f, "t", {huge .. "b"}), ydb.YDB_ERR_INVSTRLEN)
    end
    lu.assertEquals(code_of(ydb.set, "t", {huge .. "b"}, 1), ydb.YDB_ERR_INVSTRLEN)
    lu.assertErrorMsgContains("1048577: max 1048576", ydb.get, "t", {huge .. "b"})
    local subs = {huge}
    for i = 2, 32 do subs[i] = i end
    lu.assertEquals(code_of(ydb.get, "t", subs), ydb.YDB_ERR_MAXNRSUBSCRIPTS)
    lu.assertErrorMsgContains("(string expected, got boolean)", ydb.get, "t", {huge, true})
end

function TestLong:test_globals_have_keys()
    lu.assertEquals(code_of(ydb.set, "^t", {huge}, 1), ydb.YDB_ERR_GVSUBOFLOW)
end

function TestLong:test_as_nodes()
    local n = ydb.node("t", huge)
    lu.assertTrue(ydb.isnode(n))
    n.__ = 5
    lu.assertEquals({n.__, n:get(), n:__get(), ydb.get("t", huge)}, {"5", "5", "5", "5"})
    lu.assertEquals({n:incr(2), n:data(), n:has_value(), n:has_tree()}, {"7", 1, true, false})
    n.a.__ = 1
    n("b", 2):set(3)
    lu.assertEquals({n.a.__, n.b[2].__, n:data()}, {"1", "3", 11})
    lu.assertEquals(list(n:subscripts()), {"a", "b"})
    lu.assertEquals({n:depth(), n:varname(), n:name() == huge, #n.b[2]:subsarray()}, {1, "t", true, 3})
    lu.assertEquals(tostring(n.a), 't("' .. huge .. '","a")')
    lu.assertTrue(n.a == ydb.node("t", huge, "a"))
    local t = ydb.node("t")
    lu.assertEquals({t:data(), t:has_tree(), list(t:subscripts()), list(ydb.key("t"):subscripts())},
        {10, true, {huge}, {huge}})
    t:kill()
    lu.assertEquals({t:data(), n:data(), n.a:data()}, {0, 0, 0})
end

function TestLong:test_in_place_of_a_name()
    local n = ydb.node("t", huge)
    lu.assertNil(ydb.get(n))
    lu.assertEquals({ydb.data(n), ydb.set(n, 5), ydb.set(n, {"a", 1}, "x"), ydb.set(n, "b", "y")},
        {0, 5, "x", "y"})
    lu.assertEquals({ydb.get(n), ydb.get(n, "a", 1), ydb.get(n, {"b"}), ydb.data(n), n.a[1].__},
        {"5", "x", "y", 11, "x"})
    lu.assertEquals({ydb.incr(n), ydb.incr(n, {"c"}, 2), ydb.incr(n, "c", 2)}, {"6", "2", "4"})
    lu.assertEquals(list(ydb.node(n, "a"):subscripts()), {"1"})
    lu.assertEquals({ydb.node_next(n), ydb.subscript_next(n, {""})}, {{huge, "a", "1"}, "a"})
    lu.assertTrue(ydb.node(n) == n and ydb.node(n, "a") == n.a)
    lu.assertErrorMsgContains("LOCKSUB2LONG", ydb.lock_incr, n, {"a"})
    lu.assertErrorMsgContains("LOCKSUB2LONG", ydb.lock_decr, n, huge)
    lu.assertErrorMsgContains("(string expected, got boolean)", ydb.get, n, true)
    ydb.delete_node(n)
    lu.assertEquals(ydb.data(n), 10)
    lu.assertStrContains(ydb.dump(n), '","a",1)="x"')
    ydb.kill(n)
    lu.assertEquals(ydb.data(n), 0)
end

function TestLong:test_trees()
    local t, n = ydb.node("t"), ydb.node("t", huge)
    lu.assertNil(n:dump())
    lu.assertEquals(n:gettree(), {})
    lu.assertTrue(n:settree {__ = 1, a = {b = 2}, [huge] = 3} == n)
    t.short.__ = 4
    local below = {__ = "1", a = {b = "2"}, [huge] = "3"}
    lu.assertEquals(n:gettree(), below)
    lu.assertEquals(t:gettree(), {[huge] = below, short = "4"})
    lu.assertEquals(t:gettree(0), {[huge] = "1", short = "4"})
    local name = 't("' .. huge .. '"'
    local lines = {name .. ")=1", name .. ',"a","b")=2', name .. ',"' .. huge .. '")=3'}
    lu.assertEquals(n:dump(), table.concat(lines, "\n"))
    lu.assertEquals(ydb.dump("t", {huge}), n:dump())
    lu.assertEquals(t:dump(), n:dump() .. '\nt("short")=4')
    lu.assertStrContains(n:dump(1), "\n...etc.")
    for _, walked in ipairs {t, n} do
        local found = {}
        for child, value, sub in walked:pairs() do found[#found + 1] = {child.__, value, sub} end
        lu.assertEquals(found, walked == t and {{"1", "1", huge}, {"4", "4", "short"}} or
            {{nil, nil, "a"}, {"3", "3", huge}})
    end
    n:settree({a = {b = ydb.DELETE}, c = 5}, function(_, key, value)
        return key == "c" and "d" or key, value
    end)
    lu.assertEquals(n:gettree(), {__ = "1", d = "5", [huge] = "3"})
    lu.assertErrorMsgContains("bad argument #1 to 'settree' (table expected, got number)", n.settree, n, 5)
    lu.assertErrorMsgContains("bad argument #1 to 'gettree'", n.gettree, n, "x")
end

function TestLong:test_subscripts_of_locks_have_255_bytes()
    local long, text = ("l"):rep(256), "%%YDB-E-LOCKSUB2LONG, Following subscript is %d bytes long which"
        .. " exceeds 255 byte limit.,%%YDB-I-TEXT, "
    for _, name in ipairs {"t", "^t"} do
        local fits = ydb.node(name, long:sub(2))
        fits:lock_incr()
        fits:lock_decr()
        ydb.lock {fits, {name, {1, long:sub(3)}}}
        ydb.lock()
        for _, sub in ipairs {long, huge:sub(1, 1500), huge} do
            local said = text:format(#sub) .. sub:sub(1, 20)
            lu.assertErrorMsgContains(said, ydb.lock_incr, name, {1, sub}, 0)
            lu.assertErrorMsgContains(said, ydb.lock_incr, name, 1, sub, 0)
            lu.assertErrorMsgContains(said, ydb.lock_decr, name, sub)
            lu.assertErrorMsgContains(said, ydb.lock, {"x", {name, sub}})
            lu.assertErrorMsgContains(said, c.lock_incr, name, {sub})
        end
        local bad = name == "t" and huge or long
        local n = ydb.node(name, bad)
        for _, method in ipairs {"lock", "lock_incr", "grab", "lock_decr", "release"} do
            lu.assertErrorMsgContains(text:format(#bad), n[method], n)
        end
        lu.assertErrorMsgContains(text:format(#bad), ydb.lock, n)
        if name == "^t" then lu.assertErrorMsgContains(text:format(#bad), ydb.lock_incr, n, {"a"}) end
        lu.assertErrorMsgContains(text:format(#bad), ydb.lock, {n})
    end
    lu.assertEquals(code_of(ydb.lock_incr, "1", long), ydb.YDB_ERR_INVVARNAME)
    lu.assertErrorMsgContains("(string expected, got boolean)", ydb.lock_incr, "^t", {long, true})
end

function TestLong:test_keys_of_locks_have_a_length()
    local subs = {}
    for i = 1, 6 do subs[i] = ("l"):rep(200) end
    for _, name in ipairs {"t", "^t"} do
        lu.assertEquals(code_of(ydb.lock_incr, name, subs), ydb.YDB_ERR_GVSUBOFLOW)
        lu.assertEquals(code_of(ydb.lock_decr, name, subs), ydb.YDB_ERR_GVSUBOFLOW)
        lu.assertEquals(code_of(ydb.lock, {{name, subs}}), ydb.YDB_ERR_GVSUBOFLOW)
    end
    local n = ydb.node("t", subs)
    lu.assertEquals(code_of(n.lock, n), ydb.YDB_ERR_GVSUBOFLOW)
    lu.assertEquals(code_of(ydb.lock, n), ydb.YDB_ERR_GVSUBOFLOW)
end

function TestLong:test_some_are_deleted()
    for _, name in ipairs {"a", "b", "c"} do ydb.set(name, {huge}, name) end
    c.delete_excl {"b"}
    lu.assertEquals({ydb.data("a"), ydb.get("b", huge), ydb.data("c")}, {0, "b", 0})
    c.delete("b", {huge}, c.YDB_DEL_NODE)
    lu.assertEquals(ydb.data("b"), 0)
end

function TestLong:test_a_restart_puts_them_back()
    for _, names in ipairs {{"a"}, {"*"}} do
        local seen = {}
        ydb.set("a", {huge}, "first")
        ydb.tp(names, function()
            seen[#seen + 1] = ydb.get("a", huge)
            ydb.set("a", {huge}, "changed")
            if #seen < 3 then return ydb.YDB_TP_RESTART end
        end)
        lu.assertEquals({seen, ydb.get("a", huge)}, {{"first", "first", "first"}, "changed"})
    end
end

-- Random calls, on t with these subscripts and on u with others in the same order, which are short.
local b = ("b"):rep(1500)
local pairs_of = {{"", ""}, {"-1", "-1"}, {"2", "2"}, {"10", "10"}, {"a", "a"}, {"bb", "bb"}, {b, "bc"},
    {b .. b, "bd"}, {b .. "c", "be"}, {"c", "c"}, {("x"):rep(400), "x"}, {("y"):rep(990), "y"}}
local short_of = {}
for _, pair in ipairs(pairs_of) do short_of[pair[1]] = pair[2] end

local function shorten(got)
    if type(got) == "table" then
        for i, sub in ipairs(got) do got[i] = short_of[sub] or sub end
        return got
    end
    return short_of[got] or got
end

local function shorten_keys(tree)
    local short = {}
    for sub, value in pairs(tree) do
        short[short_of[sub] or sub] = type(value) == "table" and shorten_keys(value) or value
    end
    return short
end

local function random_subs()
    local long_ones, short_ones = {}, {}
    for i = 1, math.random(1, 3) do
        local pair = pairs_of[math.random(#pairs_of)]
        long_ones[i], short_ones[i] = pair[1], pair[2]
    end
    return long_ones, short_ones
end

local asked = {ydb.get, ydb.data, ydb.subscript_next, ydb.subscript_previous, ydb.node_next,
    ydb.node_previous, function(name, subs) return list(ydb.subscripts(name, subs)) end,
    function(name, subs) return list(ydb.subscripts(name, subs, true)) end,
    function(name, subs) return list(ydb.node(name, subs):subscripts()) end,
    function(name, subs) return shorten_keys(ydb.node(name, subs):gettree()) end,
    function(name, subs) return select(2, (ydb.dump(name, subs, 1000) or ""):gsub("=", "")) end}
local changes = {ydb.incr, ydb.incr, ydb.incr, ydb.kill, ydb.delete_node}

function TestLong:test_random_calls()
    for _ = 1, fixture.times(400) do
        for _, functions in ipairs {changes, asked, asked, asked} do
            local i = math.random(#functions)
            local subs, short = random_subs()
            lu.assertEquals(shorten(functions[i]("t", subs)), functions[i]("u", short),
                i .. " of " .. table.concat(short, ","))
        end
    end
end

fixture.keeps_many_objects()
fixture.run(function() require("yottadb.database").current():close() end)
