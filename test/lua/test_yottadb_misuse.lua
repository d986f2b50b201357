-- What functions of the module yottadb say when they are called wrongly, and where: a table of calls.
local lu = require "luaunit"
local ydb = require "yottadb"
local c = require "_yottadb"
local fixture = require "fixture"

ydb.set("$ZGBLDIR", fixture.path)

local unpack = table.unpack or unpack
local n, k = ydb.node("^t"), ydb.key("^t")
local other = ydb.inherit(ydb.node)("^t")
local t = true
local names36 = {}
for i = 1, 36 do names36[i] = "v" .. i end

-- Each call on a line of its own, and what is said about it: argument, function, expected, got.
local arguments = {
    {function() ydb.get() end, 1, "get", "string", "nil"},
    {function() ydb.get(t) end, 1, "get", "string", "boolean"},
    {function() ydb.get(5) end, 1, "get", "string", "number"},
    {function() ydb.get("^t", t) end, 2, "get", "string", "boolean"},
    {function() ydb.get("^t", {t}) end, 2, "get", "string", "boolean"},
    {function() ydb.get("^t", {1, 2, {}}) end, 2, "get", "string", "table"},
    {function() ydb.get("^t", {1}, 2, print) end, 4, "get", "string", "function"},
    {function() ydb.get(n, 1, n) end, 3, "get", "string", "node"},
    {function() ydb.get("t", nil) end, 2, "get", "string", "nil"},
    {function() ydb.set() end, 2, "set", "string", "nil"},
    {function() ydb.set("^t") end, 2, "set", "string", "nil"},
    {function() ydb.set("^t", t) end, 2, "set", "string", "boolean"},
    {function() ydb.set("^t", {}) end, 2, "set", "string", "table"},
    {function() ydb.set("^t", {"a"}, print) end, 3, "set", "string", "function"},
    {function() ydb.set("^t", 1, 2, n) end, 4, "set", "string", "node"},
    {function() ydb.set(t, 1, 2) end, 1, "set", "string", "boolean"},
    {function() ydb.set("^t", {t}, 2) end, 2, "set", "string", "boolean"},
    {function() ydb.set("$ZSTATUS", t) end, 2, "set", "string", "boolean"},
    {function() ydb.data(t) end, 1, "data", "string", "boolean"},
    {function() ydb.data("^t", 1, t) end, 3, "data", "string", "boolean"},
    {function() ydb.kill() end, 1, "kill", "string", "nil"},
    {function() ydb.kill("^t", t) end, 2, "kill", "string", "boolean"},
    {function() ydb.delete_tree("^t", {t}) end, 2, "kill", "string", "boolean"},
    {function() ydb.delete_node(t) end, 1, "delete_node", "string", "boolean"},
    {function() ydb.delete_node("^t", t) end, 2, "delete_node", "string", "boolean"},
    {function() ydb.incr(t) end, 1, "incr", "string", "boolean"},
    {function() ydb.incr("^t", {t}) end, 2, "incr", "string", "boolean"},
    {function() ydb.incr("^t", {}, t) end, 3, "incr", "number", "boolean"},
    {function() ydb.incr("^t", 1, 2, {}) end, 4, "incr", "number", "table"},
    {function() ydb.dump(t) end, 1, "dump", "string", "boolean"},
    {function() ydb.dump("^t", t) end, 2, "dump", "string", "boolean"},
    {function() ydb.subscript_next() end, 1, "subscript_next", "string", "nil"},
    {function() ydb.subscript_next("^t", {t}) end, 2, "subscript_next", "string", "boolean"},
    {function() ydb.subscript_previous("^t", t) end, 2, "subscript_previous", "string", "boolean"},
    {function() ydb.subscripts({}) end, 1, "subscripts", "string", "table"},
    {function() ydb.node_next("^t", {print}) end, 2, "node_next", "string", "function"},
    {function() ydb.node_previous(t) end, 1, "node_previous", "string", "boolean"},
    {function() ydb.lock(t) end, 1, "lock", "table", "boolean"},
    {function() ydb.lock({}, "soon") end, 2, "lock", "number", "string"},
    {function() ydb.lock({{"^t", t}}) end, 2, "lock", "string", "boolean"},
    {function() ydb.lock_incr() end, 1, "lock_incr", "string", "nil"},
    {function() ydb.lock_incr("^t", {}, "soon") end, 3, "lock_incr", "number", "string"},
    {function() ydb.grab("^t", t) end, 2, "lock_incr", "number", "boolean"},
    {function() ydb.lock_decr("^t", {t}) end, 2, "lock_decr", "string", "boolean"},
    {function() ydb.release(t) end, 1, "lock_decr", "string", "boolean"},
    {function() ydb.tp() end, 1, "tp", "function", "nil"},
    {function() ydb.tp(t) end, 1, "tp", "function", "boolean"},
    {function() ydb.tp(n) end, 1, "tp", "function", "node"},
    {function() ydb.tp("id", "id") end, 2, "tp", "function", "string"},
    {function() ydb.tp({}, {}, print) end, 2, "tp", "function", "table"},
    {function() ydb.tp("id", {"a", t}, print) end, 2, "tp", "string", "boolean"},
    {function() ydb.transaction({}, 5) end, 2, "transaction", "function", "number"},
    {function() ydb.str2zwr() end, 1, "str2zwr", "string", "nil"},
    {function() ydb.zwr2str({}) end, 1, "zwr2str", "string", "table"},
    {function() ydb.node() end, 1, "node", "string", "nil"},
    {function() ydb.node("^t", t) end, 2, "node", "string", "boolean"},
    {function() ydb.node("^t", {t}) end, 2, "node", "string", "boolean"},
    {function() return n[{}] end, 1, "node", "string", "table"},
    {function() return n[{1}] end, 1, "node", "string", "table"},
    {function() ydb.key("^t", {t}) end, 2, "key", "string", "boolean"},
    {function() local _ = n[t] end, 1, "node", "string", "boolean"},
    {function() local _ = n(1, t) end, 2, "node", "string", "boolean"},
    {function() local _ = k(t) end, 1, "node", "string", "boolean"},
    {function() n.__ = t end, 1, "set", "string", "boolean"},
    {function() n.a.__ = {} end, 1, "set", "string", "table"},
    {function() k.value = t end, 1, "set", "string", "boolean"},
    {function() n:set(t) end, 1, "set", "string", "boolean"},
    {function() n:__set(t) end, 1, "set", "string", "boolean"},
    {function() other:set(t) end, 1, "set", "string", "boolean"},
    {function() n:settree {a = t} end, 1, "set", "string", "boolean"},
    {function() n:settree {[t] = 1} end, 1, "settree", "string", "boolean"},
    {function() n:settree() end, 1, "settree", "table", "nil"},
    {function() n:settree(5) end, 1, "settree", "table", "number"},
    {function() n:settree(n) end, 1, "settree", "table", "node"},
    {function() n:settree({}, 5) end, 2, "settree", "function", "number"},
    {function() n:incr(t) end, 1, "incr", "string", "boolean"},
    {function() n:__incr(t) end, 1, "incr", "string", "boolean"},
    {function() n:lock(t) end, 1, "lock", "number", "boolean"},
    {function() n:lock_incr("soon") end, 1, "lock_incr", "number", "string"},
    {function() n:grab({}) end, 1, "lock_incr", "number", "table"},
    {function() n:gettree("deep") end, 1, "gettree", "number", "string"},
    {function() n:gettree(1, 2) end, 2, "gettree", "function", "number"},
    {function() n:dump("all") end, 1, "dump", "number", "string"},
    {function() c.get(t) end, 1, "get", "string", "boolean"},
    {function() c.delete("t", {t}) end, 2, "delete", "string", "boolean"},
    {function() c.delete() end, 1, "delete", "string", "nil"},
    {function() c.delete_excl(t) end, 1, "delete_excl", "table", "boolean"},
    {function() c.delete_excl {t} end, 1, "delete_excl", "string", "boolean"},
    {function() c.message() end, 1, "message", "number", "nil"},
    {function() c.cachearray_create() end, 1, "cachearray_create", "string", "nil"},
    {function() c.cachearray_append(n, t) end, 2, "cachearray_append", "string", "boolean"},
    {function() c.cachearray_subscript(n, "1") end, 2, "cachearray_subscript", "number", "string"},
}

-- Errors of YottaDB's, in its words.
local subs32 = {}
for i = 1, 32 do subs32[i] = "b" end
local long = ("b"):rep(200)
local too_long_key = "Maximum combined length of subscripts exceeded,%YDB-I-GVIS, \t\tGlobal variable: "
local worded = {
    {function() ydb.get(("b"):rep(32)) end, "VARNAME2LONG", "length exceeds maximum allowed (31)"},
    {function() ydb.set("^" .. ("b"):rep(32), 1) end, "VARNAME2LONG", "Variable name length exceeds"},
    {function() ydb.kill "\128" end, "INVVARNAME", "Invalid local/global/ISV variable name"},
    {function() ydb.get "1x" end, "INVVARNAME", "variable name 1x supplied to API call"},
    {function() ydb.get("t", subs32) end, "MAXNRSUBSCRIPTS", "Maximum number of subscripts exceeded"},
    {function() ydb.node("t", subs32) end, "MAXNRSUBSCRIPTS", "number of subscripts exceeded"},
    {function() ydb.tp(names36, print) end, "NAMECOUNT2HI", "ydb_tp_s() call (36) exceeds the maximum (35)"},
    {function() ydb.transaction("id", names36, print) end, "NAMECOUNT2HI", "(36) exceeds the maximum (35)"},
    {function() ydb.tp({"^t"}, print) end, "GVNUNSUPPORTED", "^t"},
    {function() c.delete_excl(names36) end, "NAMECOUNT2HI", "(36) exceeds the maximum (35)"},
    {function() c.delete_excl {"^t"} end, "GVNUNSUPPORTED", "^t"},
    {function() c.delete_excl {"t", "$TL"} end, "ISVUNSUPPORTED", "$TL"},
    {function() c.delete_excl {"1"} end, "INVVARNAME", ""},
    {function() ydb.tp({"1"}, print) end, "INVVARNAME", ""},
    {function() c.delete("t", 7) end, "UNIMPLOP", "Unimplemented construct encountered"},
    {function() c.message(-150000000) end, "UNKNOWNSYSERR", "150000000 does not correspond to"},
    {function() n.__ = "9E46"; n:incr("9E46") end, "NUMOFLOW", "Numeric overflow"},
    {function() ydb.get(("b"):rep(100)) end, "VARNAME2LONG", "Variable name length exceeds"},
    {function() ydb.get "b\0b" end, "INVVARNAME", "ISV variable name b supplied to API call"},
    {function() ydb.get "\128b" end, "INVVARNAME", "ISV variable name \128b supplied to API call"},
    {function() ydb.get "b' is 'b" end, "INVVARNAME", "ISV variable name b' is 'b supplied to API call"},
    {function() ydb.tp({"1", "^t"}, print) end, "INVVARNAME", "ISV variable name 1 supplied"},
    {function() ydb.tp({"t", "*"}, print) end, "INVVARNAME", "ISV variable name * supplied"},
    {function() ydb.tp({"t", "$"}, print) end, "INVVARNAME", "ISV variable name $ supplied"},
    {function() ydb.tp({("b"):rep(32), "^t"}, print) end, "VARNAME2LONG", "(31)"},
    {function() ydb.tp({"$HH"}, print) end, "INVSVN", "Invalid special variable name"},
    {function() c.delete_excl {"*"} end, "INVVARNAME", "ISV variable name * supplied"},
    {function() c.delete_excl {"t", "$HH", "^t"} end, "INVSVN", ""},
    {function() ydb.set("$ZSTATUS", {"b"}, "c") end, "ISVSUBSCRIPTED",
        "$ZSTATUS specified with a non-zero subscript count of 1"},
    {function() ydb.get("$H", "b", "c") end, "ISVSUBSCRIPTED", "count of 2"},
    {function() ydb.data("$H", {"b", "c"}, "d") end, "ISVSUBSCRIPTED", "count of 3"},
    {function() ydb.incr("$H", "b", 1) end, "ISVSUBSCRIPTED", "count of 1"},
    {function() ydb.incr("$H", {}, 1) end, "ISVUNSUPPORTED", "$H not supported in ydb_incr_s() call"},
    {function() ydb.lock {{"$H", "b"}} end, "ISVSUBSCRIPTED", "count of 1"},
    {function() ydb.node_next("$HH", {"b"}) end, "ISVSUBSCRIPTED", "count of 1"},
    {function() ydb.get("^t", ("b"):rep(2000)) end, "GVSUBOFLOW", too_long_key .. "^t(*"},
    {function() local _ = n[("b"):rep(600)][("b"):rep(600)] end, "GVSUBOFLOW", too_long_key .. "^t(*"},
    {function() ydb.lock_incr("t", {long, long, long, long, long, long}) end, "GVSUBOFLOW",
        too_long_key .. "t(*"},
    {function() ydb.set("$ZGBLDIR", "/dev/null/x") end, "ZGBLDIRACC",
        "Cannot access global directory /dev/null/x.  Cannot continue."},
}

TestMisuse = {}

function TestMisuse:test_arguments()
    for i, case in ipairs(arguments) do
        local ok, err = pcall(case[1])
        lu.assertFalse(ok)
        err = err:gsub("no value", "nil") -- of most functions the first argument has a name
        local expected = ("bad argument #%d to '%s' (%s expected, got %s)"):format(unpack(case, 2, 5))
        local line = debug.getinfo(case[1], "S").linedefined
        lu.assertEquals(err, ("%s:%d: %s"):format(debug.getinfo(1, "S").short_src, line, expected), i)
    end
end

function TestMisuse:test_words_of_errors()
    for i, case in ipairs(worded) do
        local ok, err = pcall(case[1])
        lu.assertFalse(ok)
        local code = ydb["YDB_ERR_" .. case[2]]
        lu.assertEquals(err:match "^YDB Error: (%-%d+): %%YDB%-E%-", tostring(code), i)
        lu.assertStrContains(err, "-" .. case[2] .. ", ")
        lu.assertStrContains(err, case[3])
    end
end

function TestMisuse:test_what_locks_must_be()
    for _, wrong in ipairs {t, 5, print} do
        lu.assertErrorMsgContains("must all be cachearrays", ydb.lock, {"^t", wrong})
    end
end

function TestMisuse:test_a_list_with_a_hole()
    local holed = {1, 2, 3}
    holed[2] = nil
    local ok, err = pcall(ydb.get, "^t", holed)
    lu.assertEquals(ok, #holed == 1) -- either is a length of it, and LuaJIT says so
    if not ok then lu.assertStrContains(err, "bad argument #2 to 'get' (string expected, got nil)") end
end

function TestMisuse:test_nothing_was_changed()
    n:kill()
    for _, case in ipairs(arguments) do pcall(case[1]) end
    lu.assertEquals(n:data(), 0)
end

function TestMisuse:test_caret_keeps_its_own_words()
    local db = fixture.open()
    lu.assertErrorMsgContains("a value must be a string or a number", db.set, db, "^t", t)
    lu.assertErrorMsgContains("a subscript must be a string or a number", db.get, db, "^t", t)
    lu.assertErrorMsgContains("a subscript must be a string", function() return db.node("^t")[t] end)
    lu.assertErrorMsgContains("a variable name or a node was expected", db.get, db)
    db:close()
end

fixture.run(function() require("yottadb.database").current():close() end)
