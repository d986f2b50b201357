-- Transactions and locks of the module yottadb.
local lu = require "luaunit"
local ydb = require "yottadb"
local caret = require "caret"
local fixture = require "fixture"
local code_of = fixture.code_of

ydb.set("$ZGBLDIR", fixture.path)

local n, other
local another = fixture.path:gsub("%.caret$", "-other.caret")
local short_log = fixture.path:gsub("%.caret$", "-short.caret")

TestTp = {}

function TestTp:setUp()
    n = ydb.node("^t")
    n:kill()
    ydb.kill("t")
    ydb.lock()
    other = fixture.open()
end

function TestTp:tearDown()
    other:close()
end

local function pack(...)
    return {n = select("#", ...), ...}
end

-- ------------------------------------------------------------ transactions

function TestTp:test_nothing_or_ok_commits()
    ydb.tp(function() n.a.__ = 1 end)
    lu.assertEquals(ydb.tp(function() n.b.__ = 2; return ydb.YDB_OK end), ydb.YDB_OK)
    lu.assertEquals(n:gettree(), {a = "1", b = "2"})
    lu.assertEquals(pack(ydb.tp(function() end)).n, 0)
end

function TestTp:test_arguments_and_results_pass()
    local got = pack(ydb.tp(function(...) return nil, ... end, 1, nil, 3, nil))
    lu.assertEquals(got, {n = 5, nil, 1, nil, 3, nil})
    local t = ydb.transaction(function(x) n.a.__ = x; return "done", x end)
    lu.assertEquals({t(5), t(6)}, {"done", "done", 6})
    lu.assertEquals(n.a.__, "6")
end

function TestTp:test_the_rollback_code_rolls_back_and_is_raised()
    n.a.__ = 1
    local code, text = code_of(ydb.tp, function() n.a.__ = 2; return ydb.YDB_TP_ROLLBACK end)
    lu.assertEquals(code, ydb.YDB_TP_ROLLBACK)
    lu.assertEquals(text, "YDB Error: 2147483645: YDB_TP_ROLLBACK")
    lu.assertEquals(code_of(ydb.transaction(function() n.a.__ = 2; ydb.trollback() end)), ydb.YDB_TP_ROLLBACK)
    lu.assertEquals(n.a.__, "1")
end

function TestTp:test_the_restart_code_runs_it_again()
    local runs = 0
    ydb.tp(function()
        runs = runs + 1
        lu.assertEquals(n.a:incr(), "1")
        lu.assertEquals(ydb.get("$TRESTART"), tostring(runs - 1))
        if runs < 3 then return ydb.YDB_TP_RESTART end
    end)
    lu.assertEquals({runs, n.a.__}, {3, "1"})
    runs = 0
    ydb.tp(function()
        runs = runs + 1
        n.b:incr()
        if runs < 3 then ydb.trestart() end
    end)
    lu.assertEquals({runs, n.b.__}, {3, "1"})
end

function TestTp:test_a_conflict_runs_it_again()
    local runs = 0
    n.a.__ = 1
    ydb.tp(function()
        runs = runs + 1
        local seen = n.a.__
        if runs == 1 then fixture.elsewhere("db.node('^t').a.__ = 9") end
        n.b.__ = seen
    end)
    lu.assertEquals({runs, n.b.__}, {2, "9"})
end

function TestTp:test_an_error_rolls_back_and_is_raised_on()
    n.a.__ = 1
    local thing = {}
    for _, e in ipairs {"boom", thing} do
        local ok, err = pcall(ydb.tp, function() n.a.__ = 2; error(e, 0) end)
        lu.assertFalse(ok)
        lu.assertIs(err, e)
        lu.assertIs(select(2, pcall(ydb.tp, error, e)), e) -- the function is called by none of ours
        lu.assertIs(select(2, pcall(ydb.transaction(error), e)), e)
    end
    lu.assertEquals(code_of(ydb.tp, function() n.a.__ = 2; ydb.get("1x") end), ydb.YDB_ERR_INVVARNAME)
    for _, code in ipairs {ydb.YDB_ERR_NODEEND, -150000002, ydb.YDB_LOCK_TIMEOUT, ydb.YDB_NOTOK} do
        lu.assertEquals(code_of(ydb.tp, function() n.a.__ = 2; return code end), code)
    end
    lu.assertEquals(n.a.__, "1")
    lu.assertEquals(ydb.get("$TLEVEL"), "0")
end

function TestTp:test_levels()
    local levels = {}
    ydb.tp(function()
        levels[1] = ydb.get("$TLEVEL")
        n.a.__ = 1
        lu.assertEquals(code_of(ydb.tp, function()
            levels[2] = ydb.get("$tlevel")
            n.a.__ = 2
            return ydb.YDB_TP_ROLLBACK
        end), ydb.YDB_TP_ROLLBACK)
        ydb.tp(function() n.b.__ = 1 end)
        levels[3] = ydb.node("$TLEVEL").__
    end)
    lu.assertEquals(levels, {"1", "2", "1"})
    lu.assertEquals(n:gettree(), {a = "1", b = "1"})
    local deepest
    local function deeper()
        deepest = ydb.get("$TLEVEL")
        return ydb.tp(deeper)
    end
    lu.assertEquals(code_of(deeper), ydb.YDB_ERR_TPTOODEEP)
    lu.assertEquals(deepest, "126")
end

function TestTp:test_an_inner_restart_starts_the_outermost_again()
    local outer, inner = 0, 0
    ydb.tp(function()
        outer = outer + 1
        ydb.tp(function()
            inner = inner + 1
            if inner < 3 then return ydb.YDB_TP_RESTART end
        end)
    end)
    lu.assertEquals({outer, inner}, {3, 3})
end

function TestTp:test_ids_and_locals()
    local t = ydb.node("t")
    local function change() t.__ = 2; return ydb.YDB_TP_ROLLBACK end
    for _, locals in ipairs {{}, {"t"}, {"*"}} do -- to M a rollback is not about locals
        t.__ = 1
        pcall(ydb.tp, "BATCH", locals, change)
        lu.assertEquals(t.__, "2")
        pcall(ydb.transaction(locals, change))
        lu.assertEquals(t.__, "2")
    end
    for _, locals in ipairs {{"t"}, {"u", "t"}, {"*"}} do -- a restart is
        local seen = {}
        t.__ = 1
        ydb.tp("BATCH", locals, function()
            seen[#seen + 1] = t.__
            t.__ = 2
            return #seen < 3 and ydb.YDB_TP_RESTART or ydb.YDB_OK
        end)
        lu.assertEquals({seen, t.__}, {{"1", "1", "1"}, "2"})
    end
    lu.assertEquals(pack(ydb.tp("id", function(x) return x end, "x")), {n = 1, "x"})
    lu.assertErrorMsgContains("#3 to 'tp' (function expected, got no value)", ydb.tp, "id", {"t"})
    lu.assertErrorMsgContains("#1 to 'transaction' (function expected, got no value)", ydb.transaction)
end

function TestTp:test_what_the_database_refuses_is_a_database_error()
    local large = ("x"):rep(1000)
    local db = assert(caret.open(short_log, {log_size = 8 * 1024 * 1024})) -- a log that was asked for stays
    ydb.set("$ZGBLDIR", short_log)
    local code, text = code_of(ydb.tp, function()
        for i = 1, 7000 do ydb.set("^t", {i}, large) end
    end)
    local data = ydb.data("^t")
    ydb.set("$ZGBLDIR", fixture.path)
    db:close()
    lu.assertEquals(code, ydb.YDB_ERR_DBFILERR)
    lu.assertStrContains(text, "%YDB-E-DBFILERR, TXN_TOO_BIG: " .. short_log)
    lu.assertEquals(data, 0)
end

function TestTp:test_a_caught_restart_tells_its_code()
    n.a.__ = 1
    local runs, code = 0, nil
    ydb.tp(function()
        runs = runs + 1
        if runs > 1 then return end
        local ok, err = pcall(ydb.trestart)
        lu.assertFalse(ok)
        code = ydb.get_error_code(err)
    end)
    lu.assertEquals({runs, code}, {2, ydb.YDB_TP_RESTART})
end

function TestTp:test_outside_of_transactions()
    lu.assertEquals(code_of(ydb.trestart), ydb.YDB_TP_RESTART)
    lu.assertEquals(code_of(ydb.trollback), ydb.YDB_TP_ROLLBACK)
end

-- ------------------------------------------------------------------- locks

local function free(...)
    local m = other.node("^t", ...)
    local got = m:grab(0)
    if got then m:release() end
    return got == true
end

function TestTp:test_locks_count_and_are_released()
    ydb.lock_incr("^t", {1})
    ydb.lock_incr("^t", 1, 0)
    ydb.lock_decr("^t", 1)
    lu.assertFalse(free(1))
    lu.assertTrue(free(2))
    ydb.lock_decr("^t", {1})
    lu.assertTrue(free(1))
    ydb.lock_decr("^t", {1}) -- of no lock: nothing happens
    ydb.grab("^t", 0.5)
    lu.assertFalse(free(1))
    ydb.release("^t")
    lu.assertTrue(free(1))
end

function TestTp:test_a_lock_not_got_is_raised()
    other.node("^t", 1):grab()
    local code, text = code_of(ydb.lock_incr, "^t", {1}, 0)
    lu.assertEquals(code, ydb.YDB_LOCK_TIMEOUT)
    lu.assertEquals(text, "YDB Error: 2147483643: YDB_LOCK_TIMEOUT")
    lu.assertEquals(code_of(ydb.lock, {{"^t", 1}}, 0.01), ydb.YDB_LOCK_TIMEOUT)
    for _, f in ipairs {
        function() n[1]:lock(0) end, function() n[1]:lock_incr(0) end, function() n[1]:grab(0.01) end,
        function() n:__lock(0) end, function() ydb.grab("^t", 1, "below", 0) end,
    } do
        lu.assertEquals(code_of(f), ydb.YDB_LOCK_TIMEOUT)
    end
    lu.assertEquals(code_of(ydb.lock_incr, "^t", {1}, 3e6), ydb.YDB_ERR_TIME2LONG)
    lu.assertEquals(code_of(ydb.lock, {"^t"}, 3e6), ydb.YDB_ERR_TIME2LONG)
end

function TestTp:test_a_deadlock_has_the_code_of_a_timeout_and_tells_the_ring()
    local code, text = code_of(require("yottadb.node").got, nil, "DEADLOCK: ^a waits for ^b", "DEADLOCK")
    lu.assertEquals(code, ydb.YDB_LOCK_TIMEOUT)
    lu.assertStrContains(text, "^a waits for ^b")
end

function TestTp:test_lock_releases_all_and_takes_all_or_none()
    ydb.lock_incr("^t", {1})
    ydb.lock({{"^t", 2}, {"^t", {3, "x"}}, n[4], "^u"}, 1)
    lu.assertEquals({free(1), free(2), free(3), free(4)}, {true, false, false, false})
    other.node("^t", 6):grab()
    lu.assertEquals(code_of(ydb.lock, {{"^t", 5}, {"^t", 6}}, 0), ydb.YDB_LOCK_TIMEOUT)
    lu.assertEquals({free(2), free(5)}, {true, true})
    ydb.lock(n[3], 0)
    ydb.lock("^v")
    lu.assertTrue(free(3))
    ydb.lock {n[2]}
    ydb.lock()
    lu.assertTrue(free(2))
    ydb.lock {n[2], {"^t", "2"}, n[2]} -- is taken once
    ydb.lock_decr(n[2])
    lu.assertTrue(free(2))
end

function TestTp:test_a_level_releases_what_it_took()
    local TPLOCK = ydb.YDB_ERR_TPLOCK
    ydb.lock_incr("^t", {1})
    ydb.tp(function()
        lu.assertEquals({code_of(ydb.lock_decr, "^t", 1), (code_of(ydb.lock))}, {TPLOCK, TPLOCK})
        lu.assertEquals(code_of(ydb.lock, {{"^t", 2}}), TPLOCK)
        lu.assertEquals({code_of(n[3].lock, n[3]), (code_of(n[1].release, n[1]))}, {TPLOCK, TPLOCK})
        ydb.lock_incr("^t", {2})
        ydb.tp(function()
            lu.assertEquals(code_of(ydb.lock_decr, "^t", 2), TPLOCK)
            ydb.lock_incr("^t", {3})
            ydb.lock_decr("^t", 3)
            ydb.lock_incr("^t", {4})
        end)
        ydb.lock_decr("^t", 4)
        ydb.lock_decr("^t", 9) -- is not held
        pcall(ydb.tp, function() n[5]:lock_incr() ydb.trollback() end)
        ydb.lock_decr("^t", 5)
    end)
    lu.assertEquals({free(1), free(2), free(3), free(4)}, {false, false, true, true})
    ydb.lock()
    lu.assertTrue(free(1))
    local runs = 0
    ydb.tp(function()
        runs = runs + 1
        if runs == 1 then ydb.lock_incr("^t", {6}) end
        ydb.lock_incr("^t", {7})
        if runs == 1 then ydb.trestart() end
        ydb.lock_decr("^t", {7})
        ydb.lock {{"^t", 8}} -- nothing is of before
    end)
    lu.assertEquals({free(6), free(7), free(8)}, {true, true, false})
    ydb.lock()
end

function TestTp:test_lock_incr_counts_to_511()
    for i = 1, 600 do ydb.lock_incr("^t", {i}) end
    for _ = 1, 510 do ydb.lock_incr("^t", {1, "x"}) end
    n[1].x:lock_incr()
    local code, text = code_of(ydb.lock_incr, "^t", {1, "x"})
    lu.assertEquals(code, ydb.YDB_ERR_LOCKINCR2HIGH)
    lu.assertStrContains(text, "more than 511 times,%YDB-I-LOCKIS, \t\tResource name: ^t(1,\"x\")")
    ydb.lock_incr("^t", {2})
    ydb.lock_decr("^t", {1, "x"})
    ydb.lock_incr("^t", {1, "x"})
    lu.assertEquals(code_of(n[1].x.lock_incr, n[1].x), ydb.YDB_ERR_LOCKINCR2HIGH)
    ydb.lock()
end

function TestTp:test_nodes_lock()
    n[1]:lock_incr()
    n[2]:lock()
    lu.assertEquals({free(1), free(2)}, {true, false})
    n[2]:lock_decr()
    lu.assertTrue(free(2))
    n[2]:grab(1)
    n[2]:grab()
    n[2]:release()
    lu.assertFalse(free(2))
    n[2]:release()
    n[2]:release()
    lu.assertTrue(free(2))
end

function TestTp:test_other_threads_of_control_are_excluded()
    n.l:lock()
    fixture.elsewhere [[assert(db.node('^t').l:grab(0) == nil); assert(db.node('^t').k:grab(0))]]
    ydb.lock_incr(n.k, 1) -- it has ended
end

function TestTp:test_another_database_can_be_read()
    local name = another
    local function use(which) ydb.set("$ZGBLDIR", which) end
    use(name)
    ydb.set("^x", 1)
    use(fixture.path)
    ydb.tp(function()
        n.a.__ = 1
        use(name)
        n.b.__ = ydb.get("^x")
        for _, change in ipairs {ydb.set, ydb.incr, ydb.delete_tree, ydb.lock_incr} do
            local ok, err = pcall(change, "^x", 5)
            lu.assertFalse(ok)
            lu.assertStrContains(tostring(err), "INTXN: ")
            lu.assertStrContains(tostring(err), name)
            lu.assertStrContains(tostring(err), fixture.path)
        end
        use(fixture.path)
    end)
    lu.assertEquals({n.a.__, n.b.__}, {"1", "1"})
end

function TestTp:test_the_module_caret_is_untouched()
    lu.assertErrorMsgContains("NOTXN", caret.trestart)
    other.node("^t", "a").__ = 1
    lu.assertEquals(other.node("^t", "a"):incr(), 2)
end

fixture.keeps_many_objects()
fixture.run(function()
    for _, path in ipairs {another, short_log, fixture.path} do
        ydb.set("$ZGBLDIR", path)
        require("yottadb.database").current():close()
    end
    os.remove(another)
    os.remove(short_log)
end)
