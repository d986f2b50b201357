-- What new users try: nodes taken for their values are told what to write, a nil path is not a path, and an
-- error in a transaction tells where it was raised.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n
local is_51 = _VERSION == "Lua 5.1"

TestAdvice = {}

function TestAdvice:setUp()
    db, n = fixture.fresh()
end

function TestAdvice:tearDown()
    db:close()
end

local function advised(what, f)
    lu.assertErrorMsgContains("a node is an address, not what is there: " .. what, f)
end

function TestAdvice:test_nodes_are_not_values()
    n.x.__ = 5
    local x = n.x
    advised("node.__ is its value", function() return x .. "!" end)
    advised("node.__ is its value", function() return "!" .. x end)
    advised("calculate with", function() return -x end)
    advised("calculate with", function() return x * 2 end)
    advised("calculate with", function() return 2 / x end)
    advised("calculate with", function() return x % 2 end)
    advised("calculate with", function() return x ^ 2 end)
    lu.assertErrorMsgContains("the node stands first: calculate with", function() return 1 + x end)
    lu.assertErrorMsgContains("the node stands first: calculate with", function() return 1 - x end)
    advised("compare node.__", function() return x < n.y end)
    advised("compare node.__", function() return x <= n.y end)
    if not is_51 then
        advised("compare node.__", function() return x < 5 end)
        advised("compare node.__", function() return 5 >= x end)
    end
    if type(x) ~= "table" then -- as with LuaJIT
        advised("node:count()", function() return #x end)
    end
    if _VERSION == "Lua 5.2" then advised("for child, value", function() return ipairs(x) end) end
    lu.assertErrorMsgContains("test_advice.lua:", function() return x * 2 end)
end

function TestAdvice:test_subclasses_may_have_their_own()
    local new = caret.inherit(db.node, {__lt = function(a, b) return a:number() < b:number() end})
    local a, b = new("^a"), new("^b")
    a.__, b.__ = 1, 2
    lu.assertTrue(a < b)
    advised("calculate with", function() return a * 2 end)
end

function TestAdvice:test_a_nil_path_is_a_mistake()
    local config = {}
    lu.assertErrorMsgContains("path of a database is nil", function() return caret.open(config.path) end)
    local function open() return caret.open(nil, {create = false}) end
    lu.assertErrorMsgContains("path of a database is nil", open)
end

-- --------------------------------------------------------------- tracebacks

local function culprit() error("oh") end

local function run(begin)
    local function middle()
        local x = culprit()
        return x
    end
    begin(db, middle)
end

local function trace(begin)
    local _, text = xpcall(function() run(begin) end, function(e) return e end)
    return text
end

local function nested(d, f) d:tp(function() d:tp(f) end) end
local function made(d, f) d:transaction(f)() end

function TestAdvice:test_an_error_tells_where_in_a_transaction()
    for _, begin in ipairs {db.tp, nested, made, db.snapshot} do
        local text = trace(begin)
        lu.assertStrMatches(text, "[^\n]*test_advice.lua:%d+: oh\nstack traceback:\n.*")
        lu.assertStrContains(text, "culprit")
        lu.assertEquals(select(2, text:gsub("stack traceback", "")), 1)
    end
end

function TestAdvice:test_pcall_gets_errors_as_they_are()
    for _, begin in ipairs {db.tp, nested, made, db.snapshot} do
        local ok, text = pcall(begin, db, culprit)
        lu.assertFalse(ok)
        lu.assertStrMatches(text, "[^\n]*: oh")
        xpcall(function()
            ok, text = pcall(begin, db, culprit) -- the nearest counts
            lu.assertStrMatches(text, "[^\n]*: oh")
        end, function(e) error(e) end)
    end
    local thread = coroutine.create(function() db:tp(culprit) end)
    local _, text = coroutine.resume(thread)
    lu.assertStrMatches(text, "[^\n]*: oh")
    local object = {}
    local _, raised = xpcall(function() db:tp(function() error(object) end) end, function(e) return e end)
    lu.assertIs(raised, object)
end

function TestAdvice:test_restarts_and_rollbacks_are_no_errors()
    local runs = 0
    local function twice()
        runs = runs + 1
        if runs < 3 then caret.trestart() end
        return runs
    end
    local ok, result = xpcall(function() return db:tp(twice) end, function(e) return e end)
    lu.assertTrue(ok)
    lu.assertEquals(result, 3)
    local _, none, text, name = xpcall(function() return db:tp(caret.trollback) end, function(e) return e end)
    lu.assertNil(none)
    lu.assertEquals(name, "ROLLBACK")
    lu.assertNotStrContains(text, "traceback")
end

function TestAdvice:test_an_endless_recursion_ends()
    local function deep(i) return 1 + deep(i + 1) end
    local ok, text = xpcall(function() db:tp(deep, 1) end, function(e) return e end)
    lu.assertFalse(ok)
    lu.assertEquals(type(text), "string")
    db:tp(function() n.x.__ = 1 end)
    lu.assertEquals(n.x.__, "1")
end

fixture.run()
