-- db:backup(path[, options]): what is returned, progress, errors in it.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n
local copy = fixture.path:gsub("%.caret$", "-copy.caret")

TestBackup = {}

function TestBackup:setUp()
    db, n = fixture.fresh()
    for i = 1, 300 do n[i].__ = ("x"):rep(i * 7) end
end

local function remove()
    for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(copy .. suffix) end
end

function TestBackup:tearDown()
    db:close()
    remove()
end

function TestBackup:test_the_copy_is_a_database()
    local tree = n:gettree()
    for _, options in ipairs {{}, {compact = true}} do
        lu.assertTrue(db:backup(copy, options))
        n[1].__ = "changed later"
        local copied = assert(caret.open(copy, {create = false}))
        lu.assertEquals(copied.node("^t"):gettree(), tree)
        lu.assertTrue(copied:check())
        lu.assertTrue(copied:check("online"))
        copied.node("^t", 1).__ = 5
        copied:close()
        n[1].__ = ("x"):rep(7)
        remove()
    end
end

function TestBackup:test_failures_are_returned()
    lu.assertTrue(db:backup(copy))
    local ok, text, name = db:backup(copy)
    lu.assertNil(ok)
    lu.assertEquals(name, "EXISTS")
    lu.assertStrContains(text, "EXISTS: ")
    lu.assertTrue(db:backup(copy, {overwrite = true}))
    lu.assertEquals(select(3, db:backup(copy .. "/none/x")), "OPEN")
    lu.assertEquals(select(3, db:backup(db:path(), {overwrite = true})), "INVALID")
    lu.assertErrorMsgContains("path of a backup is a string", function() db:backup() end)
    lu.assertErrorMsgContains("is empty", function() db:backup("") end)
    lu.assertErrorMsgContains("no option 'speed'", function() db:backup(copy, {speed = 1}) end)
    lu.assertErrorMsgContains("true or false", function() db:backup(copy, {compact = 1}) end)
    lu.assertErrorMsgContains("are a table", function() db:backup(copy, "x") end)
    lu.assertErrorMsgContains("'online' or nothing", function() db:check("offline") end)
end

function TestBackup:test_progress()
    local last, of = 0, 0
    local function progress(done, total)
        lu.assertTrue(done > last and done <= total)
        last, of = done, total
        n.told:incr() -- the database can be used
    end
    lu.assertTrue(db:backup(copy, {progress = progress}))
    lu.assertTrue(last > 0)
    lu.assertEquals(last, of)
    remove()
    local ok, _, name = db:backup(copy, {progress = function() return false end})
    lu.assertNil(ok)
    lu.assertEquals(name, "ROLLBACK")
    lu.assertNil(io.open(copy))
    local thing = {}
    local raised, err = pcall(db.backup, db, copy, {progress = function() error(thing) end})
    lu.assertFalse(raised)
    lu.assertIs(err, thing)
    lu.assertNil(io.open(copy))
    lu.assertEquals(db:stat().snapshots, 0)
    local mine = fixture.open()
    lu.assertTrue(mine:backup(copy, {progress = function() mine:close() end}))
    lu.assertErrorMsgContains("CLOSED", function() mine:backup(copy) end)
end

function TestBackup:test_restore_to_a_moment()
    local folder = os.tmpname()
    os.remove(folder)
    os.execute("mkdir " .. folder)
    local path, made = folder .. "/a.caret", folder .. "/b.caret"
    local mine = assert(caret.open(path, {archive = folder, sync = "off"}))
    local a = mine.node("^a")
    a.__ = "backed up"
    assert(mine:backup(copy))
    a.__ = "then"
    a.long.__ = ("x"):rep(20000)
    local _, place = mine:durable()
    a.__ = "later"
    a.long:kill()
    mine:close()

    lu.assertEquals(caret.restore(copy, made, {archive = folder, lsn = place}), place)
    local restored = assert(caret.open(made))
    lu.assertEquals(restored.node("^a"):gettree(), {__ = "then", long = ("x"):rep(20000)})
    restored:close()
    lu.assertEquals(select(3, caret.restore(copy, made, {archive = folder})), "EXISTS")
    os.remove(made)
    lu.assertTrue(caret.restore(copy, made, {archive = folder, time = os.time() + 100}) > place)
    restored = assert(caret.open(made))
    lu.assertEquals(restored.node("^a"):gettree(), {__ = "later"})
    restored:close()
    os.remove(made)
    local last, time = 0, nil
    lu.assertEquals(caret.restore(copy, made, {archive = folder, progress = function(lsn, seconds)
        last, time = lsn, seconds
    end}), last)
    lu.assertAlmostEquals(time, os.time(), 60)
    os.remove(made)
    lu.assertEquals(select(3, caret.restore(copy, made, {archive = folder,
        progress = function() return false end})), "ROLLBACK")
    local thing = {}
    local raised, err = pcall(caret.restore, copy, made, {archive = folder,
        progress = function() error(thing) end})
    lu.assertFalse(raised)
    lu.assertIs(err, thing)
    lu.assertNil(io.open(made))
    lu.assertEquals(select(3, caret.restore(copy, made, {archive = folder, lsn = 1e9})), "NOTFOUND")
    lu.assertEquals(select(3, caret.restore(copy .. "x", made)), "NOTFOUND")
    lu.assertErrorMsgContains("is empty", function() caret.restore("", made) end)
    lu.assertErrorMsgContains("no option 'when'", function() caret.restore(copy, made, {when = 1}) end)
    lu.assertErrorMsgContains("is a place", function() caret.restore(copy, made, {lsn = "1"}) end)
    os.execute("rm -r " .. folder)
end

fixture.run()
