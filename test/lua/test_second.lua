-- A second database in a transaction, and a second handle of the same file: it can be read, which is
-- not a part of the transaction, and it can't be changed.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n, second, again
local path = fixture.path:gsub("%.caret$", "-second.caret")

TestSecond = {}

function TestSecond:setUp()
    db, n = fixture.fresh()
    second = assert(caret.open(path, {sync = "off"}))
    second:kill("^s")
    second.node("^s"):settree {__ = "top", a = {__ = 1, x = "deep"}, b = 2, [3] = "three"}
    again = fixture.open()
end

function TestSecond:tearDown()
    again:close()
    second:close()
    db:close()
end

local function collect(...)
    local list = {}
    for a, b, c in ... do list[#list + 1] = tostring(c == nil and a or c) .. "=" .. tostring(b) end
    return table.concat(list, " ")
end

-- Everything that reads.
local function reading(d)
    local s = d.node("^s")
    local cursor, got = s:cursor("a"), {}
    local function add(v) got[#got + 1] = tostring(v) end
    add(s.__) add(s.a.__) add(s:get()) add(s.b:number()) add(s:data())
    add(s.a:has_value()) add(s.a:has_tree())
    add(collect(s:subscripts())) add(collect(s:subscripts(true))) add(collect(s:pairs()))
    add(collect(s:range {from = "a"})) add(collect(s:walk())) add(collect(d:variables()))
    add(s:next(3)) add(s:previous("a")) add(s:json()) add(s:dump()) add(s:gettree().a.x)
    add(d:get("^s", "a")) add(d:data("^s")) add(cursor.__) add(cursor:move("b").__)
    return table.concat(got, "\n")
end

function TestSecond:test_all_of_it_can_be_read()
    local before = reading(second)
    db:tp(function()
        n.a.__ = 1
        lu.assertEquals(reading(second), before)
        db:tp(function() lu.assertEquals(reading(second), before) end)
        second:snapshot(function() lu.assertEquals(reading(second), before) end)
        n.b.__ = second.node("^s").a.__
    end)
    lu.assertEquals({n.a.__, n.b.__}, {"1", "1"})
end

-- A copy comes before the kill of a move, which would take the copy, too.
function TestSecond:test_nodes_of_one_file_that_overlap_are_left_alone()
    n:settree {a = {__ = 1, a = {__ = 2, a = 3}}}
    local before, to = n:gettree(), again.node("^t")
    for _, name in ipairs {"merge", "copy_to", "move_to"} do
        lu.assertErrorMsgContains("is below", n.a[name], n.a, to.a.a)
        lu.assertErrorMsgContains("is below", n.a.a[name], n.a.a, to.a)
        lu.assertEquals(n:gettree(), before)
    end
    lu.assertEquals(n.a:move_to(to.a), to.a)
    lu.assertEquals(n:gettree(), before)
    n.a.a:move_to(to.b)
    lu.assertEquals(n:gettree(), {a = "1", b = {__ = "2", a = "3"}})
end

function TestSecond:test_databases_in_memory_do_not_overlap()
    local one, two = assert(caret.open ":memory:"), assert(caret.open ":memory:")
    one.node("^t"):settree {a = {b = 1}}
    one.node("^t", "a"):move_to(two.node("^t"))
    lu.assertEquals(two.node("^t"):gettree(), {b = "1"})
    lu.assertFalse(one.node("^t"):exists())
    two:close()
    one:close()
end

-- A node of another one has the same address, and is a mistake.
function TestSecond:test_a_node_of_another_database_is_misuse()
    local s = second.node("^s")
    local memory = {assert(caret.open(":memory:")), assert(caret.open(":memory:"))}
    local function refused(what, ...)
        lu.assertErrorMsgContains("test_second.lua", what, ...)
        lu.assertErrorMsgContains("a node of this database was expected, not of ", what, ...)
    end
    for _, method in ipairs {"get", "data", "delete", "kill", "set", "incr"} do
        refused(function() db[method](db, s, 1) end)
    end
    refused(function() db:wait(s, 0) end)
    refused(function() db:changes {prefix = s} end)
    refused(function() db:lock {{s, 1}} end)
    refused(function() memory[1]:get(memory[2].node("^s")) end)
    lu.assertEquals({again:get(n, "a"), db.node(s):get("none")}, {db:get(n, "a"), "none"})
    for _, d in ipairs(memory) do d:close() end
end

local function changes(d)
    local s = d.node("^s")
    return {
        function() s.__ = 1 end, function() s:set(1) end, function() s.a.__ = nil end,
        function() s:incr() end,
        function() s:incr("2.5") end, function() return s + 1 end, function() return s - 1 end,
        function() s:kill() end, function() s:delete() end, function() s:settree {q = 1} end,
        function() s:setjson "[1]" end, function() d:set("^s", 1) end, function() d:incr("^s") end,
        function() d:kill("^s") end, function() d:delete("^s") end, function() d:tp(function() end) end,
        function() d:transaction(function() end)() end, function() s:grab(0) end, function() s:release() end,
        function() s:lock(0) end, function() d:lock({s}, 0) end, function() d:lock({{"local"}}, 0) end,
        function() d:lock() end, function() d:lock({}, 0) end,
        function() d:snapshot(function() d:tp(function() end) end) end,
    }
end

local function refused(call, ...)
    local ok, err = pcall(call)
    lu.assertFalse(ok)
    for _, says in ipairs {"INTXN: ", ...} do lu.assertStrContains(tostring(err), says) end
end

function TestSecond:test_changing_it_is_refused_with_both_names()
    local before = reading(second)
    for i, change in ipairs(changes(second)) do
        db:tp(function()
            n[i].__ = i
            refused(change, second:path(), db:path())
            n[i].after.__ = i -- the transaction goes on
        end)
        lu.assertEquals(n[i].after.__, tostring(i))
    end
    for _, change in ipairs(changes(again)) do
        db:tp(function()
            refused(change, db:path() .. " can't be ", " by another handle in a transaction of ")
        end)
    end
    lu.assertEquals(reading(second), before)
    second.node("^s").a.__ = 5 -- afterwards it can
    lu.assertTrue(second.node("^s"):grab(0))
    second.node("^s"):release()
end

function TestSecond:test_locals_are_the_states_and_no_databases()
    local word = second.node("word")
    db:tp(function()
        word.__ = "x"
        lu.assertEquals(word:incr(2), 2)
        word.sub.__ = 1
        word:kill()
    end)
    lu.assertNil(word.__)
end

function TestSecond:test_another_handle_sees_what_is_committed()
    local mine, theirs = n.x, again.node("^t").x
    mine.__ = "committed"
    db:tp(function()
        mine.__ = "mine"
        n.new.__ = 1
        lu.assertEquals(theirs.__, "committed")
        db:tp(function()
            mine.__ = "inner"
            lu.assertEquals(theirs.__, "committed")
        end)
        lu.assertEquals(again.node("^t").new:data(), 0)
        lu.assertEquals(again.node("^t"):json(), '{"x":"committed"}')
        again:snapshot(function() lu.assertEquals(theirs.__, "committed") end)
        lu.assertEquals(mine.__, "inner")
    end)
    lu.assertEquals(theirs.__, "inner")
end

function TestSecond:test_reading_it_is_no_part_of_the_transaction()
    local mine, other = n.x, again.node("^t").x
    local runs, seen = 0, {}
    mine.__ = 0
    db:tp(function()
        runs = runs + 1
        n.result.__ = runs
        seen[#seen + 1] = other.__
        if runs == 1 then fixture.elsewhere "db:incr('^t', 'x', 1)" end -- what only the other handle has read
        seen[#seen + 1] = other.__
    end)
    lu.assertEquals({runs, seen}, {1, {"0", "1"}}) -- another moment each, and no conflict
    lu.assertEquals(n.result.__, "1")
end

function TestSecond:test_restarts_and_rollbacks_pass_through_its_snapshot()
    local runs = 0
    db:tp(function()
        runs = runs + 1
        n.x.__ = runs
        second:snapshot(function()
            lu.assertEquals(second.node("^s").b.__, "2")
            if runs < 6 then caret.trestart() end -- from the fourth run on the transaction is alone
        end)
        lu.assertEquals(again.node("^t").x:data(), 0)
        lu.assertEquals(second.node("^s").b.__, "2")
    end)
    lu.assertEquals({runs, n.x.__}, {6, "6"})
    local _, _, name = db:tp(function()
        n.x.__ = "no"
        again:snapshot(function() caret.trollback() end)
    end)
    lu.assertEquals({name, n.x.__}, {"ROLLBACK", "6"})
    second.node("^s").b.__ = 3 -- nothing is left of it
    again.node("^t").x.__ = 7
    lu.assertEquals(n.x.__, "7")
end

function TestSecond:test_what_is_opened_or_closed_in_it()
    db:tp(function()
        local third = assert(caret.open(path, {sync = "off"}))
        lu.assertEquals(third.node("^s").b.__, "2")
        refused(function() third:set("^s", 1) end, third:path(), db:path())
        third:close()
        lu.assertErrorMsgContains("CLOSED", function() third:get("^s") end)
    end)
    local mine = fixture.open()
    local ok, err = pcall(mine.tp, mine, function()
        mine:close()
        refused(function() second:set("^s", 1) end, second:path())
        lu.assertEquals(second:get("^s", "b"), "2")
    end)
    lu.assertFalse(ok)
    lu.assertStrContains(tostring(err), "CLOSED")
    second:set("^s", "b", 2)
end

function TestSecond:test_opened_read_only()
    local reader = assert(caret.open(path, {readonly = true}))
    local before = reading(reader)
    db:tp(function()
        n.x.__ = 1
        lu.assertEquals(reading(reader), before)
        refused(function() reader:tp(function() end) end, reader:path(), db:path())
    end)
    reader:tp(function() lu.assertEquals(n.x.__, "1") end)
    reader:close()
end

fixture.run(function()
    for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(path .. suffix) end
end)
