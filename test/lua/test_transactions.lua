-- Transactions: results, rollback, restart, nesting, conflicts, local variables.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestTransactions = {}

function TestTransactions:setUp()
    db, n = fixture.fresh()
end

function TestTransactions:tearDown()
    db:close()
end

local function pack(...)
    return {n = select("#", ...), ...}
end

function TestTransactions:test_arguments_and_results_pass()
    lu.assertEquals(pack(db:tp(function(...) n.a.__ = (...); return ..., nil end, 5, nil)), {n = 2, 5})
    lu.assertEquals(n.a.__, "5")
    lu.assertEquals(pack(db:tp(function(...) return ... end, 1, nil, 3, nil)), {n = 4, 1, nil, 3})
    lu.assertEquals(pack(db:tp(function() end)), {n = 0})
    local f = db:transaction(function(...) return select("#", ...), ... end)
    lu.assertEquals(pack(f()), {n = 1, 0})
    lu.assertEquals(pack(f(nil, 2)), {n = 3, 2, nil, 2})
    local many = {}
    for i = 1, 150 do many[i] = i end
    lu.assertEquals({db:tp(function(...) return ... end, (table.unpack or unpack)(many))}, many)
end

-- A child that is forked within a transaction is in none: it may open the database and change it.
function TestTransactions:test_a_child_is_not_in_the_transaction_of_its_parent()
    local has, unistd = pcall(require, "posix.unistd")
    lu.skipIf(not has, "no lua-posix for this Lua: it can't fork")
    local wait, second = require "posix.sys.wait", nil
    local other = fixture.open()
    db:tp(function()
        n.parent.__ = 1
        local pid = assert(unistd.fork())
        if pid == 0 then
            local ok = pcall(function()
                fixture.open():set("^t", "opened", 1)
                other:set("^t", "other", 1)
                local taken = other.node("^t", "lock"):grab(0)
                assert(taken)
            end)
            unistd._exit(ok and 0 or 1)
        end
        local _, how, status = wait.wait(pid)
        second = {how, status}
        lu.assertErrorMsgContains("INTXN", function() other:set("^t", "no", 1) end)
    end)
    other:close()
    lu.assertEquals(second, {"exited", 0})
    lu.assertEquals({n.parent.__, n.opened.__, n.other.__, n.no.__}, {"1", "1", "1"})
end

function TestTransactions:test_an_error_rolls_back_and_is_raised_on()
    n.a.__ = 5
    local thing = {}
    for _, e in ipairs {"boom", thing} do
        local ok, err = pcall(db.tp, db, function() n.a.__ = 6; error(e, 0) end)
        lu.assertFalse(ok)
        lu.assertIs(err, e)
        lu.assertEquals(n.a.__, "5")
    end
    lu.assertEquals(db:tp(function() return n.a.__ end), "5")
end

function TestTransactions:test_rollback_by_hand()
    n.a.__ = 5
    local r = pack(db:transaction(function() n.a.__ = 7; caret.trollback() end)())
    lu.assertEquals(r, {n = 3, nil, "ROLLBACK: the transaction was rolled back", "ROLLBACK"})
    lu.assertEquals(n.a.__, "5")
    r = pack(db:tp(function() n.a.__ = 7; pcall(caret.trollback); return "hidden" end))
    lu.assertEquals(r[3], "ROLLBACK")
    lu.assertEquals(n.a.__, "5")
end

function TestTransactions:test_restart_by_hand()
    local runs = 0
    local got = db:tp(function(x)
        runs = runs + 1
        n.a:incr()
        if runs == 2 then pcall(caret.trestart) end
        if runs < 5 then caret.trestart() end
        return x
    end, "x")
    lu.assertEquals({runs, n.a.__, got}, {5, "1", "x"})
end

function TestTransactions:test_inner_transactions_are_savepoints()
    db:tp(function()
        n.a.__ = 1
        pcall(db.tp, db, function() n.a.__ = 2; n.b.__ = 1; error("no") end)
        lu.assertEquals(n.a.__, "1")
        lu.assertNil(n.b.__)
        local _, _, name = db:tp(function() n.b.__ = 2; caret.trollback() end)
        lu.assertEquals(name, "ROLLBACK")
        lu.assertNil(n.b.__)
        db:tp(function() n.c.__ = 3 end)
    end)
    lu.assertEquals(n:gettree(), {a = "1", c = "3"})
end

function TestTransactions:test_a_restart_inside_starts_the_outermost_again()
    local outer, inner = 0, 0
    db:tp(function()
        outer = outer + 1
        n.a:incr()
        pcall(db.tp, db, function() -- hiding it does not help
            inner = inner + 1
            n.b:incr()
            if inner < 3 then caret.trestart() end
        end)
    end)
    lu.assertEquals({outer, inner}, {3, 3})
    lu.assertEquals(n:gettree(), {a = "1", b = "1"})
end

function TestTransactions:test_a_conflict_runs_it_again()
    n.a.__ = 1
    local runs = 0
    db:tp(function()
        runs = runs + 1
        local seen = n.a.__
        if runs == 1 then fixture.elsewhere("db.node('^t').a.__ = 9") end
        n.b.__ = seen
    end)
    lu.assertEquals(runs, 2)
    lu.assertEquals(n.b.__, "9")
end

function TestTransactions:test_a_conflict_can_not_be_hidden()
    n.a.__ = 1
    local runs, raised = 0, nil
    local f = function()
        runs = runs + 1
        local _ = n.a.__
        if runs == 1 then
            fixture.elsewhere("local n = db.node('^t') n.a.__ = 9 n.z.__ = 9")
            local ok, err = pcall(function() _ = n.z.__; return n.a.__ end)
            raised = not ok and tostring(err)
            error("what it saw made no sense")
        end
        n.b.__ = n.a.__
    end
    local ok, err = pcall(db.tp, db, f)
    if raised then -- the read itself told of the conflict: the error after it counts for nothing
        lu.assertStrContains(raised, "RESTART")
        lu.assertTrue(ok, err)
        lu.assertEquals({runs, n.b.__}, {2, "9"})
    else
        lu.assertFalse(ok)
    end
end

function TestTransactions:test_sync_waits_for_the_disk()
    db:sync()
    db:tp(function() n.a.__ = 1 end)
    local durable, committed = db:durable()
    lu.assertTrue(durable < committed)
    db:tp("SYNC", function() n.a.__ = 2 end)
    durable, committed = db:durable()
    lu.assertEquals(durable, committed)
end

function TestTransactions:test_options()
    lu.assertEquals(db:tp("BATCH", function() return 1 end), 1)
    lu.assertEquals(db:tp("BA", {}, function(x) return x end, 2), 2)
    lu.assertEquals(db:tp({"*"}, function() return 3 end), 3)
    lu.assertEquals(db:transaction("SYNC", {"v"}, function(x) return x end)(4), 4)
    lu.assertErrorMsgContains("'BATCH', 'SYNC' or 'ALONE', not 'SNYC'", db.tp, db, "SNYC", print)
    lu.assertErrorMsgContains("needs a function", db.tp, db, "BATCH")
    lu.assertErrorMsgContains("needs a function", db.transaction, db)
    lu.assertErrorMsgContains("names of local variables", db.tp, db, {"^g"}, print)
    lu.assertErrorMsgContains("names of local variables", db.tp, db, {5}, print)
    lu.assertErrorMsgContains("NAME", db.tp, db, {"1x"}, print)
end

function TestTransactions:test_named_locals_are_restored()
    local a, b = db.node("va"), db.node("vb")
    local function set(x) a.__ = x; a[1].__ = x; b.__ = x; b.c.__ = x end
    local function change() a.__ = 2; a[1]:kill(); a[2].__ = 2; b.__ = 2; caret.trollback() end

    set(1)
    db:tp(change)
    lu.assertEquals({a:gettree(), b.__}, {{__ = "2", [2] = "2"}, "2"})
    a:kill()
    set(1)
    db:tp({"va"}, change)
    lu.assertEquals({a:gettree(), b.__}, {{__ = "1", "1"}, "2"})
    set(1)
    db:tp({"*"}, change)
    lu.assertEquals({a:gettree(), b:gettree()}, {{__ = "1", "1"}, {__ = "1", c = "1"}})
    local runs = 0
    db:tp({"va"}, function()
        runs = runs + 1
        a:incr()
        b:incr()
        if runs < 3 then caret.trestart() end
    end)
    lu.assertEquals({a.__, b.__}, {"2", "4"})
    db:tp({"new"}, function() db.node("new").__ = 1; caret.trollback() end)
    lu.assertEquals(db.node("new"):data(), 0)
    a:kill()
    b:kill()
end

function TestTransactions:test_a_second_database_can_only_be_read_inside()
    local other = fixture.open()
    local m = other.node("^t", "other")
    db:tp(function()
        lu.assertErrorMsgContains("another handle", function() m.__ = 1 end)
        lu.assertNil(m:get())
        lu.assertErrorMsgContains("another handle", other.set, other, "^t", 1)
        lu.assertErrorMsgContains("another handle", other.tp, other, print)
        other.node("v").__ = 1 -- local variables are nobody's
        local third = fixture.open()
        lu.assertErrorMsgContains("another handle", third.set, third, "^t", 1)
        third:close()
    end)
    m.__ = 1
    lu.assertEquals(m.__, "1")
    other.node("v"):kill()
    other:close()
end

function TestTransactions:test_outside_of_a_transaction()
    lu.assertErrorMsgContains("NOTXN", caret.trestart)
    lu.assertErrorMsgContains("NOTXN", caret.trollback)
end

function TestTransactions:test_a_coroutine_can_not_be_left_inside()
    local co = coroutine.create(function()
        db:tp(function() n.a.__ = 1; coroutine.yield() end)
    end)
    lu.assertFalse((coroutine.resume(co)))
    lu.assertNil(n.a.__)
    lu.assertErrorMsgContains("NOTXN", caret.trestart)
end

function TestTransactions:test_closing_inside_rolls_back()
    local other = fixture.open()
    lu.assertErrorMsgContains("CLOSED", other.tp, other, function()
        other.node("^t").a.__ = 1
        other:close()
    end)
    lu.assertNil(n.a.__)
    n.a.__ = 2
    lu.assertEquals(n.a.__, "2")
end

function TestTransactions:test_a_call_allocates_nothing()
    n.a.__ = "v"
    local a = n.a
    local f = db:transaction(function() a.__ = "w" end)
    lu.assertTrue(fixture.allocated(function() for _ = 1, 1000 do f() end end) < 2000)
end

fixture.run()
function TestTransactions:test_durable_tells_how_far_the_disk_is()
    db.node("^t").__ = 1
    local durable, committed = db:durable()
    lu.assertTrue(math.type == nil or math.type(durable) == "integer")
    lu.assertTrue(durable < committed)
    lu.assertTrue(db:sync())
    lu.assertEquals({db:durable()}, {committed, committed})
end

