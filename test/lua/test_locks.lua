-- Locks: exclusion, counting, timeouts, lists, transactions.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, other, n, m

TestLocks = {}

function TestLocks:setUp()
    db, n = fixture.fresh()
    other = fixture.open()
    m = other.node("^t")
end

function TestLocks:tearDown()
    other:close()
    db:close()
end

function TestLocks:test_a_lock_excludes_ancestors_and_descendants()
    lu.assertTrue(n.l:grab())
    local got, text, name = m.l:grab(0)
    lu.assertNil(got)
    lu.assertEquals(text:sub(1, 13), "LOCK_TIMEOUT:")
    lu.assertEquals(name, "LOCK_TIMEOUT")
    lu.assertNil((m:grab(0)))
    lu.assertNil((m.l.below:grab(0.01)))
    lu.assertTrue(m.beside:grab(0))
    n.l:release()
    lu.assertTrue(m.l:grab(0))
end

function TestLocks:test_locks_count()
    lu.assertTrue(n:grab())
    lu.assertTrue(n:lock_incr(0))
    n:release()
    lu.assertNil((m:grab(0)))
    n:lock_decr()
    lu.assertTrue(m:grab(0))
    lu.assertErrorMsgContains("NOTLOCKED", function() n:release() end)
end

function TestLocks:test_lock_releases_all_and_takes_one()
    n.a:grab()
    n.b:grab()
    lu.assertTrue(n.c:lock())
    lu.assertTrue(m.a:grab(0))
    lu.assertTrue(m.b:grab(0))
    lu.assertNil((m.c:grab(0)))
end

function TestLocks:test_a_local_and_a_global_of_one_name_are_two_locks()
    lu.assertTrue(db.node("t", 1):grab(0))
    lu.assertTrue(m[1]:grab(0))
    lu.assertNil((other.node("t"):grab(0)))
    lu.assertNil((n[1]:grab(0)))
    lu.assertTrue(db:lock {{"t", 1}, {"u"}})
    lu.assertNil((other.node("u"):grab(0)))
    lu.assertTrue(m[1]:grab(0))
    db.node("u"):release()
    lu.assertTrue(other.node("u"):grab(0))
    lu.assertNil((db.node("u", 2):grab(0)))
end

function TestLocks:test_a_list_is_taken_as_a_whole_or_not()
    lu.assertTrue(db:lock {{"^t", 1}, n[2], {"^t", {3, "x"}}})
    lu.assertNil((m[1]:grab(0)))
    lu.assertNil((m[3]:grab(0)))
    lu.assertTrue(m[4]:grab(0))
    local got, _, name = other:lock({m[5], m[2]}, 0)
    lu.assertEquals({got, name}, {nil, "LOCK_TIMEOUT"})
    lu.assertTrue(db.node("^t", 5):grab(0))
    lu.assertTrue(db.node("^t", 4):grab(0)) -- the failed call had released it
    lu.assertTrue(db:lock {})
    lu.assertTrue(other:lock({m[1], m[2]}, 0))
    lu.assertTrue(other:lock())
    lu.assertTrue(n:grab(0))
    lu.assertTrue(db:lock({m[1], {m[2]}}, 0)) -- a node of another handle on the file stands for its address
    lu.assertNil((other:lock({m[2]}, 0)))
end

function TestLocks:test_bad_arguments()
    lu.assertErrorMsgContains("timeout is a number", function() n:grab("soon") end)
    lu.assertErrorMsgContains("list of nodes", db.lock, db, "^t")
    lu.assertErrorMsgContains("is a node or a table, not a number", db.lock, db, {5})
    local elsewhere = caret.open(":memory:")
    lu.assertErrorMsgContains("item 2 of the locks is a node of another database", db.lock, db,
        {n, elsewhere.node("^t")})
    elsewhere:close()
    lu.assertErrorMsgContains("variable name", db.lock, db, {{}})
    local many = {}
    for i = 1, 65 do many[i] = n[i] end
    lu.assertErrorMsgContains("64", db.lock, db, many)
    lu.assertTrue(n:grab(-1))
    n:release()
    lu.assertErrorMsgContains("NaN", n.grab, n, 0 / 0)
end

function TestLocks:test_too_many_are_told()
    local i, got, text, name = 0
    repeat
        i = i + 1
        got, text, name = n[i]:grab(0)
    until not got or i > 70000
    lu.assertEquals(name, "LIMIT")
    lu.assertStrContains(text, "LIMIT: the lock table is full")
    lu.assertTrue(n[i]:lock(0)) -- after letting go of all
    lu.assertTrue(db:lock({n[1], n[2]}, 0))
end

function TestLocks:test_closing_releases()
    m:grab()
    lu.assertNil((n:grab(0)))
    other:close()
    lu.assertTrue(n:grab(0))
end

function TestLocks:test_a_rollback_releases_what_was_taken_inside()
    n.before:grab()
    db:tp(function() n.inside:grab(); caret.trollback() end)
    lu.assertTrue(m.inside:grab(0))
    lu.assertNil((m.before:grab(0)))
    db:tp(function() n.kept:grab() end)
    lu.assertNil((m.kept:grab(0)))
end

function TestLocks:test_other_processes_are_excluded()
    n.l:grab()
    fixture.elsewhere([[assert(db.node('^t').l:grab(0) == nil); assert(db.node('^t').k:grab(0))]])
    lu.assertTrue(m.k:grab(1)) -- it has ended
end

fixture.keeps_many_objects()
fixture.run()
