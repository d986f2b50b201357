-- Errors: what is raised, what is returned, whom it blames; closed databases.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n

TestErrors = {}

function TestErrors:setUp()
    db, n = fixture.fresh()
end

function TestErrors:tearDown()
    db:close()
end

function TestErrors:test_misuse_raises_with_a_reason()
    lu.assertErrorMsgContains("node is not a table: write node['x'].__", function() n.x = 5 end)
    lu.assertErrorMsgContains("node is not a table: write node[1].__", function() n[1] = 5 end)
    lu.assertErrorMsgContains("not a table", function() n.x.__ = {} end)
    lu.assertErrorMsgContains("not a boolean", function() n.x.__ = true end)
    lu.assertErrorMsgContains("needs a value", function() n.x:set() end)
    lu.assertErrorMsgContains("subscript must be", function() return n[{}] end)
    lu.assertErrorMsgContains("subscript must be", function() return n[true] end)
    lu.assertErrorMsgContains("subscript must be", function() return n(nil, 1) end)
    lu.assertErrorMsgContains("no method 'nothing'", function() n:nothing() end)
    lu.assertErrorMsgContains("no method 'nothing'", function() n:__nothing() end)
    lu.assertErrorMsgContains("not a boolean", function() n.x:incr(true) end)
    lu.assertErrorMsgContains("name or a node", function() db.node() end)
    lu.assertErrorMsgContains("name or a node", function() db.node(5) end)
    lu.assertErrorMsgContains("name or a node", function() db:get() end)
    lu.assertErrorMsgContains("database was expected", function() db.get("^t") end)
    for _, name in ipairs {"^1x", "", "^", "a b", "^" .. ("x"):rep(32), "\0"} do
        lu.assertErrorMsgContains("NAME", function() db.node(name) end)
    end
    lu.assertErrorMsgContains("KEY2BIG", function() return n[("x"):rep(1100)] end)
    lu.assertErrorMsgContains("MAXSUBS", function()
        local x = n
        for i = 1, 40 do x = x[i] end
    end)
    lu.assertErrorMsgContains("INVALID", function() return n[0 / 0] end)
end

function TestErrors:test_errors_blame_the_callers_line()
    local line = debug.getinfo(1, "l").currentline
    local calls = {
        function() n.x.__ = {} end,
        function() n.x = 5 end,
        function() return n[{}] + 1 end,
        function() n.x:set({}) end,
        function() n.x:__set({}) end,
        function() n:nothing() end,
        function() db.node("^1") end,
        function() db:set("^1", 1) end,
        function() n:settree(5) end,
        function() n:settree {a = {b = true}} end,
        function() db:lock(5) end,
        function() db:tp(5) end,
        function() caret.inherit(5) end,
        function() caret.open({}) end,
        function() n:grab({}) end,
    }
    for i, f in ipairs(calls) do
        local _, err = pcall(f)
        lu.assertStrContains(tostring(err), ("test_errors.lua:%d: "):format(line + 1 + i))
    end
end

function TestErrors:test_failures_of_the_database_are_objects()
    n.x.__ = "9E46"
    local ok, err = pcall(function() n.x:incr("9E46") end)
    lu.assertFalse(ok)
    lu.assertEquals(err.name, "NUMOFLOW")
    lu.assertStrContains(err.message, "1E47")
    lu.assertEquals(type(err.code), "number")
    lu.assertEquals(type(err.message), "string")
    lu.assertEquals(tostring(err), "NUMOFLOW: " .. err.message)
    lu.assertEquals(n.x.__, "9E46")
    local reader = fixture.open {readonly = true}
    ok, err = pcall(function() reader.node("^t").__ = 1 end)
    lu.assertFalse(ok)
    lu.assertEquals(err.name, "READONLY")
    lu.assertEquals(reader.node("^t", "x").__, "9E46")
    lu.assertEquals(reader:stat().view, "attached") -- to the same engine as the one that writes
    reader:close()
end

function TestErrors:test_read_only_is_a_view_of_the_file()
    local path = fixture.path .. ".copy"
    local d = assert(caret.open(path))
    d.node("^t").x.__ = 1
    d:close()
    local reader = assert(caret.open(path, {readonly = true}))
    lu.assertEquals(reader:stat().view, "file")
    lu.assertEquals(reader.node("^t").x.__, "1")
    lu.assertIsTrue(reader:check())
    local ok, err = pcall(function() reader.node("^t").x.__ = 2 end)
    lu.assertFalse(ok)
    lu.assertEquals(err.name, "READONLY")
    ok, err = pcall(function() reader.node("^t"):grab(0) end)
    lu.assertFalse(ok)
    lu.assertEquals(err.name, "READONLY")
    local read = reader:transaction(function() return reader.node("^t").x.__ end)
    lu.assertEquals(read(), "1")
    reader:close()
    os.remove(path)
end

function TestErrors:test_what_goes_wrong_in_closing_is_returned()
    local path = fixture.path .. ".gone"
    local d = assert(caret.open(path))
    d:set("^t", 1)
    os.remove(path)
    local ok, text, name = d:close()
    lu.assertNil(ok)
    lu.assertStrContains(text, "EVICTED: ")
    lu.assertEquals(name, "EVICTED")
    lu.assertErrorMsgContains("CLOSED", function() d:get "^t" end) -- all the same
    lu.assertIsTrue(d:close())
    os.remove(path .. "-log")
    os.remove(path .. "-lock")
end

function TestErrors:test_a_closed_feed_says_so()
    local feed = assert(db:changes {wait = 0})
    feed:close()
    lu.assertErrorMsgContains("this feed was closed", function() feed:next(0) end)
end

local function refused(name, ...)
    local d, text, got = caret.open(...)
    lu.assertNil(d)
    lu.assertEquals(got, name)
    lu.assertEquals(text:sub(1, #name + 2), name .. ": ")
end

function TestErrors:test_open_returns_what_is_wrong_with_the_file()
    refused("OPEN", "/")
    refused("OPEN", "/no/such/folder/x")
    refused("NOTFOUND", fixture.path .. ".none", {create = false})
    local name = fixture.path .. ".foreign"
    local f = assert(io.open(name, "w"))
    f:write(("This is not a database. "):rep(5000))
    f:close()
    refused("FOREIGN", name)
    os.remove(name)
    os.remove(name .. "-lock")
    os.remove(name .. "-log")
end

function TestErrors:test_bad_options_raise()
    lu.assertErrorMsgContains("path of a database", caret.open, {})
    lu.assertErrorMsgContains("zero byte", caret.open, "a\0b")
    lu.assertErrorMsgContains("options of open", caret.open, fixture.path, "sync")
    lu.assertErrorMsgContains("option sync", caret.open, fixture.path, {sync = "always"})
    lu.assertErrorMsgContains("option sync", caret.open, fixture.path, {sync = 1})
    lu.assertErrorMsgContains("option sync_interval", caret.open, fixture.path, {sync_interval = -1})
    lu.assertErrorMsgContains("option log_size", caret.open, fixture.path, {log_size = "big"})
    local opened, text, name = caret.open(fixture.path, {log_size = 1})
    lu.assertNil(opened)
    lu.assertStrContains(text, "option log_size is 1")
    lu.assertEquals(name, "INVALID")
    lu.assertErrorMsgContains("option arena_limit", caret.open, fixture.path, {arena_limit = 0.5})
    lu.assertErrorMsgContains("option shm_dir", caret.open, fixture.path, {shm_dir = 7})
    lu.assertErrorMsgContains("option readonly", caret.open, fixture.path, {readonly = 1})
    lu.assertErrorMsgContains("option progress is a function", caret.open, fixture.path, {progress = 1})
    lu.assertErrorMsgContains("no option 'colour'", caret.open, fixture.path, {colour = "red"})
end

function TestErrors:test_a_closed_database_raises()
    local other = fixture.open()
    local m = other.node("^t").x
    m.y.__ = 1
    local step = other.node("^t"):subscripts()
    local node = other.node
    other:close()
    other:close()
    lu.assertErrorMsgContains("CLOSED", function() return m.__ end)
    lu.assertErrorMsgContains("CLOSED", function() m.__ = 1 end)
    lu.assertErrorMsgContains("CLOSED", function() return m.y end)
    lu.assertErrorMsgContains("CLOSED", function() return m:get() end)
    lu.assertErrorMsgContains("CLOSED", function() return m:pairs() end)
    lu.assertErrorMsgContains("CLOSED", step)
    lu.assertErrorMsgContains("CLOSED", node, "^t")
    lu.assertErrorMsgContains("CLOSED", function() return other.node("^t") end)
    for _, name in ipairs {"get", "kill", "data", "tp", "sync", "check", "stat", "path"} do
        lu.assertErrorMsgContains("CLOSED", function() other[name](other, "^t") end)
    end
    lu.assertEquals(tostring(m), '^t("x")')
    lu.assertStrContains(tostring(other), "closed")
    lu.assertEquals(n.x.y.__, "1") -- the other one over the same file is open
end

function TestErrors:test_to_be_closed_variables()
    if _VERSION < "Lua 5.4" then return end
    local chunk = assert(load([[
        local open = ...
        local kept
        do
            local d <close> = open()
            kept = d.node("^t")
        end
        return kept]]))
    local kept = chunk(fixture.open)
    lu.assertErrorMsgContains("CLOSED", function() return kept.__ end)
end

function TestErrors:test_metamethods_called_with_the_wrong_thing()
    local mt = debug.getmetatable(n)
    for _, bad in ipairs {5, {}, "x", db, io.stdout} do
        lu.assertErrorMsgContains("node was expected", mt.__index, bad, "x")
        lu.assertErrorMsgContains("node was expected", mt.__newindex, bad, "__", 1)
        lu.assertErrorMsgContains("node was expected", mt.__call, bad)
        lu.assertErrorMsgContains("node was expected", mt.__tostring, bad)
        lu.assertErrorMsgContains("node was expected", mt.__index(n, "__get"), bad)
    end
    lu.assertFalse(mt.__eq(5, n))
end

function TestErrors:test_functions_of_c_are_not_named()
    for _, text in ipairs {
        select(2, pcall(n.__copy_to, n, n.below)),
        select(2, pcall(db.tp, db, function() db:wait(n, 0) end)),
        select(2, pcall(db.node, "^n", 0 / 0)),
        select(2, caret.open(":memory:", {archive = "x"})),
        (select(2, caret.open("nowhere://x"))),
    } do
        lu.assertStrMatches(tostring(text), ".*[A-Z]+: .*")
        lu.assertNil(tostring(text):find("caret_", 1, true), text)
    end
end

function TestErrors:test_the_default_database()
    for _, name in ipairs {"node", "get", "set", "incr", "kill", "delete", "data", "lock", "transaction",
        "tp", "snapshot", "variables", "sync", "durable", "checkpoint", "check", "path", "stat", "close"} do
        lu.assertEquals(type(caret[name]), "function", name)
    end
    local file = fixture.path .. ".lua"
    local f = assert(io.open(file, "w"))
    f:write([[
        local caret = require "caret"
        caret.node("^d", 1).__ = 5
        assert(caret.incr("^d", 1, 2) == 7 and caret.get("^d", 1) == "7")
        assert(caret.data("^d") == 10)
        assert(caret.set("^d", "x", "y") == "y" and caret.node("^d"):next() == 1)
        assert(caret.transaction(function(a) return a, caret.get("^d", "x") end)(3) == 3)
        assert(caret.tp(function() return caret.delete("^d", "x") end) == nil)
        assert(caret.snapshot(function() return caret.get("^d", 1) end) == "7")
        assert(caret.lock {{"^d", 1}} and caret.variables()() == "^d")
        local new, class = caret.inherit(caret.node)
        function class.twice(n) return 2 * n:number() end
        assert(new("^d")[1]:twice() == 14)
        caret.kill("^d")
        assert(caret.data("^d") == 0 and caret.path() == os.getenv("CARET_DB"))
        assert(caret.close() and caret.close())
        assert(caret.get("^d", 1) == nil) -- opens it again]])
    f:close()
    local path = fixture.path .. ".default"
    local ok, _, code = os.execute(("CARET_DB='%s' '%s' '%s'"):format(path, arg[-1], file))
    lu.assertTrue(ok == true or ok == 0, tostring(code))
    f = assert(io.open(file, "w"))
    f:write([[
        local caret = require "caret"
        local ok, text = pcall(function() caret.get("^d") end)
        assert(not ok and text:find("%.lua:2: OPEN: /no/such/x"), text)]])
    f:close()
    ok, _, code = os.execute(("CARET_DB=/no/such/x '%s' '%s'"):format(arg[-1], file))
    lu.assertTrue(ok == true or ok == 0, tostring(code))
    for _, name in ipairs {file, path, path .. "-log", path .. "-lock"} do os.remove(name) end
end

fixture.run()
