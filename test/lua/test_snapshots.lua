-- db:snapshot(fn, ...): what is read, what is refused, how it ends.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n, other

TestSnapshots = {}

function TestSnapshots:setUp()
    db, n = fixture.fresh()
    other = fixture.open() -- a session of its own: db reads the snapshot, other writes
end

function TestSnapshots:tearDown()
    other:close()
    db:close()
end

local function keys(node)
    local list = {}
    for sub in node:subscripts() do list[#list + 1] = sub end
    return list
end

function TestSnapshots:test_reads_are_of_the_moment_it_was_begun()
    n:settree {a = {__ = 1, x = 2}, b = 3, c = ("long"):rep(5000)}
    local before, tree = n.a.__, n:gettree()
    local write = other.node("^t")
    db:snapshot(function()
        for i = 1, 200 do
            write:kill()
            write[i].__ = i
            if i % 50 == 0 then other:checkpoint() end
        end
        lu.assertEquals(n.a.__, before)
        lu.assertEquals(n:gettree(), tree)
        lu.assertEquals(keys(n), {"a", "b", "c"})
        lu.assertEquals(n:data(), 10)
        lu.assertNil(n[200].__)
    end)
    lu.assertNil(n.a.__)
    lu.assertEquals(n[200].__, "200")
    lu.assertTrue(db:checkpoint())
    lu.assertEquals(db:stat().held_pages, 0)
end

function TestSnapshots:test_arguments_results_and_errors_pass()
    lu.assertEquals({db:snapshot(function(...) return select("#", ...), ... end, 7, 8)}, {2, 7, 8})
    local thing = {}
    local ok, err = pcall(db.snapshot, db, function() error(thing) end)
    lu.assertFalse(ok)
    lu.assertIs(err, thing)
    n.a.__ = 1 -- it is over
    lu.assertErrorMsgContains("needs a function, not a table", function() db:snapshot({}) end)
end

function TestSnapshots:test_nothing_can_be_written()
    n.a.__ = 1
    db:snapshot(function()
        for _, f in ipairs {
            function() n.a.__ = 2 end, function() n.a:incr() end, function() n:kill() end,
            function() n.a:delete() end, function() db:tp(function() n.a.__ = 2 end) end,
        } do
            local ok, err = pcall(f)
            lu.assertFalse(ok)
            lu.assertEquals(err.name, "READONLY")
        end
        local l = db.node("local")
        l.__ = 5
        lu.assertEquals(l.__, "5")
    end)
    lu.assertEquals(n.a.__, "1")
end

function TestSnapshots:test_transactions_in_it_read_the_same()
    n.a.__ = 1
    db:snapshot(function()
        other.node("^t").a.__ = 2
        lu.assertEquals(db:tp(function() return n.a.__ end), "1")
        local runs = 0
        local got = db:tp(function()
            runs = runs + 1
            if runs < 3 then caret.trestart() end
            return db:tp(function() return n.a.__ end)
        end)
        lu.assertEquals({runs, got}, {3, "1"})
        local _, _, name = db:tp(function() caret.trollback() end)
        lu.assertEquals(name, "ROLLBACK")
        lu.assertEquals(db:snapshot(function() return n.a.__ end), "1")
        lu.assertErrorMsgContains("NOTXN", caret.trollback)
        lu.assertEquals(n.a.__, "1")
    end)
    lu.assertEquals(n.a.__, "2")
    local ok, err = pcall(db.tp, db, function() db:snapshot(function() end) end)
    lu.assertFalse(ok)
    lu.assertStrContains(tostring(err), "INTXN")
end

function TestSnapshots:test_other_databases_can_be_written_in_it()
    n.a.__ = 1
    db:snapshot(function()
        other.node("^t").copy.__ = n.a.__
        other:tp(function() other.node("^t").copied:incr() end)
    end)
    lu.assertEquals({n.copy.__, n.copied.__}, {"1", "1"})
end

function TestSnapshots:test_closing_in_it_ends_it()
    local mine = fixture.open()
    lu.assertErrorMsgContains("CLOSED", function() mine:snapshot(function() mine:close() end) end)
    lu.assertTrue(db:checkpoint())
    lu.assertEquals(db:stat().snapshots, 0)
end

fixture.run()
