-- Special variables, and which database the module yottadb uses.
local lu = require "luaunit"
local ydb = require "yottadb"
local caret = require "caret"
local fixture = require "fixture"
local code_of = fixture.code_of

local second = fixture.path:gsub("%.caret$", "-2.caret")

ydb.set("$ZGBLDIR", fixture.path)

TestSpecial = {}

function TestSpecial:test_what_can_be_read()
    lu.assertEquals(ydb.get("$ZYRELEASE"), "YottaDB r2.06 Linux x86_64")
    lu.assertEquals(ydb.get("$zyrelease", {}), "YottaDB r2.06 Linux x86_64")
    lu.assertEquals(ydb.get("$TLEVEL"), "0")
    lu.assertEquals(ydb.get("$TRESTART"), "0")
    lu.assertEquals(ydb.get("$ZMAXTPTIME"), "0")
    lu.assertStrMatches(ydb.get("$JOB"), "%d+")
    local f = io.open("/proc/" .. ydb.get("$JOB") .. "/stat")
    lu.assertNotNil(f)
    f:close()
    lu.assertStrMatches(ydb.get("$ZVERSION"), "GT%.M .*")
    lu.assertAlmostEquals(tonumber(ydb.get("$ZUT")) / 1e6, os.time(), 5)
end

function TestSpecial:test_horolog_counts_days_and_seconds()
    local days, seconds = ydb.get("$HOROLOG"):match "^(%d+),(%d+)$"
    local now = os.date "*t"
    local midnight = os.time {year = now.year, month = now.month, day = now.day, hour = 0}
    lu.assertAlmostEquals(tonumber(seconds), os.time() - midnight, 3700) -- clocks may have been changed today
    local millennium = 58074 -- the first day of the year 2000
    local elapsed = os.difftime(os.time {year = now.year, month = now.month, day = now.day, hour = 12},
        os.time {year = 2000, month = 1, day = 1, hour = 12})
    lu.assertAlmostEquals(tonumber(days) - millennium, elapsed / 86400, 0.1)
end

function TestSpecial:test_what_can_be_set()
    ydb.set("$ZSTATUS", "mine")
    lu.assertEquals(ydb.get("$ZSTATUS"), "mine")
    pcall(ydb.get, "^1")
    lu.assertStrMatches(ydb.get("$ZSTATUS"), "151027762,%(SimpleAPI%),%%YDB%-E%-INVVARNAME, .+")
    for _, name in ipairs {"$TLEVEL", "$JOB", "$ZYRELEASE", "$HOROLOG"} do
        lu.assertEquals(code_of(ydb.set, name, 1), ydb.YDB_ERR_SVNOSET)
    end
    lu.assertErrorMsgContains("nil", ydb.set, "$ZSTATUS", nil)
end

function TestSpecial:test_what_they_are_not()
    lu.assertEquals(code_of(ydb.get, "$NOSUCH"), ydb.YDB_ERR_INVSVN)
    lu.assertEquals(code_of(ydb.set, "$NOSUCH", 1), ydb.YDB_ERR_INVSVN)
    lu.assertEquals(code_of(ydb.node, "$"), ydb.YDB_ERR_INVVARNAME)
    for _, f in ipairs {ydb.kill, ydb.data, ydb.incr, ydb.delete_node, ydb.subscript_next, ydb.lock_incr} do
        lu.assertEquals(code_of(f, "$JOB"), ydb.YDB_ERR_ISVUNSUPPORTED)
    end
    lu.assertEquals(code_of(ydb.get, "$JOB", 1), ydb.YDB_ERR_ISVSUBSCRIPTED)
    for called, f in pairs {data = ydb.data, delete = ydb.kill, incr = ydb.incr, lock_incr = ydb.lock_incr,
        subscript_next = ydb.subscript_next, subscript_previous = ydb.subscript_previous, lock = ydb.lock,
        node_next = ydb.node_next, node_previous = ydb.node_previous, lock_decr = ydb.lock_decr} do
        lu.assertErrorMsgContains("$JOB not supported in ydb_" .. called .. "_s() call", f, "$JOB")
    end
    lu.assertErrorMsgContains("in ydb_subscript_previous_s() call", ydb.subscripts, "$JOB", true)
    lu.assertErrorMsgContains("in ydb_subscript_next_s() call", ydb.subscripts, "$JOB", false)
end

function TestSpecial:test_as_nodes()
    local status = ydb.node("$zstatus")
    status.__ = "a"
    lu.assertEquals({status.__, status:get(), status:__get(), ydb.get(status)}, {"a", "a", "a", "a"})
    status:set("b")
    lu.assertEquals({ydb.get("$ZSTATUS"), ydb.set(status, "c"), status.__}, {"b", "c", "c"})
    lu.assertEquals({status:name(), status:varname(), status:depth(), tostring(status)},
        {"$ZSTATUS", "$ZSTATUS", 0, "$ZSTATUS"})
    lu.assertTrue(ydb.isnode(status))
    lu.assertTrue(status == ydb.node("$ZSTATUS"))
    lu.assertEquals(code_of(function() return status.child end), ydb.YDB_ERR_ISVUNSUPPORTED)
    lu.assertEquals(code_of(function() status.child = 1 end), ydb.YDB_ERR_ISVUNSUPPORTED)
    lu.assertEquals(code_of(function() status:kill() end), ydb.YDB_ERR_ISVUNSUPPORTED)
end

function TestSpecial:test_zgbldir_selects_the_database()
    ydb.set("^t", "first")
    local stays = ydb.node("^t")
    ydb.set("$ZGBLDIR", second)
    lu.assertEquals(ydb.get("$ZGBLDIR"), second)
    ydb.set("^t", "second")
    ydb.lock {{"^t"}}
    ydb.set("$ZGBLDIR", fixture.path)
    lu.assertEquals(ydb.get("^t"), "first")
    ydb.set("$ZGBLDIR", (second:gsub("%.caret$", ".gld"))) -- the file beside it
    lu.assertEquals({ydb.get("^t"), stays.__, ydb.get(stays)}, {"second", "first", "second"})
    local db = caret.open(second, {create = false})
    lu.assertNil((db.node("^t"):grab(0)))
    ydb.set("$ZGBLDIR", fixture.path)
    ydb.lock() -- of every database
    lu.assertTrue(db.node("^t"):grab(0))
    db:close()
end

function TestSpecial:test_a_database_that_can_not_be_opened()
    lu.assertEquals(code_of(ydb.set, "$ZGBLDIR", "/nonexistent/folder/file"), ydb.YDB_ERR_ZGBLDIRACC)
    lu.assertEquals(ydb.get("$ZGBLDIR"), fixture.path)
end

-- What a program sees with that environment.
local function run(environment, text)
    local name = os.tmpname()
    local f = assert(io.open(name, "w"))
    f:write(text)
    f:close()
    local pipe = assert(io.popen(("%s '%s' '%s'"):format(environment, arg[-1], name)))
    local out = pipe:read "*a"
    pipe:close()
    os.remove(name)
    return out
end

function TestSpecial:test_the_environment_selects_the_database()
    ydb.set("$ZGBLDIR", second)
    ydb.set("^t", "second")
    ydb.set("$ZGBLDIR", fixture.path)
    ydb.set("^t", "first")
    local get = [[local ydb = require "yottadb"; io.write(ydb.get("^t"), " ", ydb.get("$ZGBLDIR"))]]
    lu.assertEquals(run("ydb_gbldir= CARET_DB=" .. fixture.path, get), "first " .. fixture.path)
    lu.assertEquals(run(("CARET_DB=%s ydb_gbldir=%s"):format(fixture.path, second), get), "second " .. second)
    local gld = second:gsub("%.caret$", ".gld")
    lu.assertEquals(run("ydb_gbldir=" .. gld, get), "second " .. gld)
    local back = ([[local ydb = require "yottadb"
        ydb.set("$ZGBLDIR", %q)
        ydb.set("$ZGBLDIR", "")
        io.write(ydb.get("^t"), " ", ydb.get("$ZGBLDIR"))]]):format(second)
    lu.assertEquals(run("ydb_gbldir=" .. fixture.path, back), "first " .. fixture.path)
    lu.assertEquals(run("ydb_chset=UTF-8 ydb_gbldir=" .. second,
        [[io.write(require("yottadb").str2zwr("\195\169\133"))]]), '"\195\169"_$ZCH(133)')
end

function TestSpecial:test_nothing_is_opened_before_it_is_needed()
    local out = run("ydb_gbldir=/nonexistent/folder/file", [[
        local ydb = require "yottadb"
        io.write(ydb.get("$TLEVEL"), ydb.get("$ZGBLDIR"))
        local ok, err = pcall(ydb.get, "^t")
        io.write(tostring(ok), tostring(ydb.get_error_code(err)))]])
    lu.assertEquals(out, "0/nonexistent/folder/filefalse" .. ydb.YDB_ERR_ZGBLDIRACC)
end

local timed = false

function TestSpecial:test_zmaxtptime_ends_a_transaction_that_restarts_for_ever()
    if timed then return end -- a second is enough
    timed = true
    ydb.set("$ZMAXTPTIME", 1)
    lu.assertEquals(ydb.get("$ZMAXTPTIME"), "1")
    lu.assertEquals(code_of(ydb.tp, function()
        ydb.set("^t", "changed")
        return ydb.YDB_TP_RESTART
    end), ydb.YDB_ERR_TPTIMEOUT)
    ydb.set("$ZMAXTPTIME", 0)
    lu.assertEquals(ydb.get("^t"), "first")
end

fixture.run(function()
    for _, path in ipairs {second, fixture.path} do
        ydb.set("$ZGBLDIR", path)
        require("yottadb.database").current():close()
    end
    for _, suffix in ipairs {"", "-log", "-lock"} do os.remove(second .. suffix) end
end)
