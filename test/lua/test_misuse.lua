-- Every public function, called wrongly: the error says what was wrong, and blames the line that called it.
-- A function that is not in these tables fails.
local lu = require "luaunit"
local caret = require "caret"
local fixture = require "fixture"

local db, n = fixture.fresh()
local function f() end

-- Calls, each on a line of its own, and what their error says.  What takes no argument, or any, has none.
local functions = {
    open = {
        {function() caret.open({}) end, "path of a database is a string, not a table"},
        {function() caret.open("") end, "path of a database is empty"},
        {function() caret.open("a\0b") end, "path of a database has a zero byte"},
        {function() caret.open("x", 5) end, "options of open are a table, not a number"},
        {function() caret.open("x", {colour = 1}) end, "open has no option 'colour'; there are create, "},
        {function() caret.open("x", {true}) end, "open has no option 1; there are"},
        {function() caret.open("x", {[true] = 1}) end, "open has no option a boolean; there are"},
        {function() caret.open("x", {create = 1}) end, "option create is true or false, not a number"},
        {function() caret.open("x", {sync = "x"}) end, "option sync is 'commit', 'interval' or 'off', not x"},
        {function() caret.open("x", {sync_interval = 0}) end, "option sync_interval is a number"},
        {function() caret.open("x", {sync_interval = 0 / 0}) end, "option sync_interval is a number"},
        {function() caret.open("x", {sync_interval = 1 / 0}) end, "option sync_interval is a number"},
        {function() caret.open("x", {log_size = 0 / 0}) end, "option log_size is a number of bytes"},
        {function() caret.open("x", {arena_limit = 1 / 0}) end, "option arena_limit is a number of bytes"},
        {function() caret.open("x", {arena_limit = -1}) end, "option arena_limit is a number of bytes"},
        {function() caret.open("x", {log_size = 1.5}) end, "option log_size is a number of bytes"},
        {function() caret.open(":memory:", {memory_limit = "1G"}) end, "memory_limit is a number of bytes"},
        {function() caret.open("x", {values = "float"}) end, "values is 'text' or 'typed', not float"},
        {function() caret.open("x", {values = true}) end, "values is 'text' or 'typed', not a boolean"},
        {function() caret.open("x", {archive = 5}) end, "option archive, a path, is a string, not a number"},
        {function() caret.open("x", {progress = 5}) end, "option progress is a function, not a number"},
    },
    restore = {
        {function() caret.restore() end, "path of a backup is a string"},
        {function() caret.restore("a", 5) end, "path of the database to be made is a string, not a number"},
        {function() caret.restore("a", "b", 5) end, "options of restore are a table, not a number"},
        {function() caret.restore("a", "b", {lsn = "1"}) end, "option lsn is a place in the log, an integer"},
        {function() caret.restore("a", "b", {lsn = 5.5}) end, "option lsn is a place in the log, an integer"},
        {function() caret.restore("a", "b", {lsn = -1}) end, "option lsn is a place in the log, an integer"},
        {function() caret.restore("a", "b", {time = -1}) end, "of seconds since 1970, 0 to 1e10"},
        {function() caret.restore("a", "b", {time = 1e30}) end, "of seconds since 1970, 0 to 1e10"},
    },
    salvage = {
        {function() caret.salvage() end, "path of the damaged database is a string"},
        {function() caret.salvage("a", {}) end, "path of the file to write is a string, not a table"},
    },
    counted = {{function() caret.counted(n) end, "counted needs a function, not a node"}},
    inherit = {
        {function() caret.inherit() end, "inherit needs a function that makes nodes, not a nil"},
        {function() caret.inherit(n) end, "inherit needs a function that makes nodes, not a node"},
        {function() caret.inherit(db.node, 5) end, "metatable of inherit is a table, not a number"},
        {function() caret.inherit(db.node, n) end, "metatable of inherit is a table, not a node"},
        {function() caret.inherit(function() return 5 end)() end, "was given made a number, not a node"},
    },
    trestart = {{function() caret.trestart() end, "NOTXN: no transaction is running"}},
    trollback = {{function() caret.trollback() end, "NOTXN: no transaction is running"}},
    isnode = {},
    close = {},
}

local databases = {
    node = {
        {function() db.node() end, "variable name or a node was expected, not nothing"},
        {function() db:node(5) end, "variable name or a node was expected, not a number"},
        {function() db.node("^1") end, "NAME: "},
        {function() db.node("^t", {}, {{}}) end, "subscript must be a string or a number, not a table"},
        {function() db.node("^t", nil) end, "subscript must be a string or a number, not a nil"},
        {function() db.node("^t", 0 / 0) end, "INVALID: "},
        {function() db.node("^t", ("x"):rep(1100)) end, "KEY2BIG: "},
    },
    get = {
        {function() db:get() end, "variable name or a node was expected, not nothing"},
        {function() db:get("^t", true) end, "subscript must be a string or a number, not a boolean"},
    },
    set = {
        {function() db:set("^t") end, "set needs a variable and a value"},
        {function() db:set("^t", {}) end, "value must be a string or a number, not a table"},
        {function() db:set("^t", f, 1) end, "subscript must be a string or a number, not a function"},
        {function() db:set("^t", 0 / 0) end, "INVALID: "},
    },
    incr = {
        {function() db:incr() end, "variable name or a node was expected"},
        {function() db:incr("^t", "x", {}) end, "increment must be a number, or its text, not a table"},
    },
    delete = {{function() db:delete(5) end, "variable name or a node was expected, not a number"}},
    kill = {{function() db:kill({}) end, "variable name or a node was expected, not a table"}},
    data = {{function() db:data(true) end, "variable name or a node was expected, not a boolean"}},
    variables = {},
    batch = {},
    transaction = {
        {function() db:transaction() end, "transaction needs a function, not a"},
        {function() db:transaction("SNYC", f) end, "transaction is 'BATCH', 'SYNC' or 'ALONE', not 'SNYC'"},
        {function() db:transaction({"^g"}, f) end, "names of local variables, not ^g"},
        {function() db:transaction({5}, f) end, "names of local variables, not a number"},
        {function() db:transaction(n, f) end, "transaction needs a function, not a node"},
        {function() db:transaction(f, 5) end, "give arguments to what it returns"},
    },
    tp = {
        {function() db:tp(5) end, "transaction needs a function, not a number"},
        {function() db:tp("BATCH", {"1x"}, f) end, "NAME: "},
    },
    snapshot = {{function() db:snapshot("x") end, "snapshot needs a function, not a string"}},
    lock = {
        {function() db:lock(5) end, "lock takes a list of nodes and tables, not a number"},
        {function() db:lock({5}) end, "item 1 of the locks is a node or a table, not a number"},
        {function() db:lock({{}}) end, "variable name or a node was expected"},
        {function() db:lock({}, "soon") end, "timeout is a number of seconds, not a string"},
    },
    backup = {
        {function() db:backup() end, "path of a backup is a string"},
        {function() db:backup("x", 5) end, "options of backup are a table, not a number"},
        {function() db:backup("x", {compact = 1}) end, "option compact is true or false, not a number"},
        {function() db:backup("x", {progress = {}}) end, "option progress is a function, not a table"},
    },
    check = {
        {function() db:check("all") end, "check is 'online' or nothing, not 'all'"},
        {function() db:check({}) end, "check is 'online' or nothing, not a table"},
    },
    wait = {
        {function() db:wait() end, "a variable name or a node was expected, not a nil"},
        {function() db:wait("t", 0) end, "nobody else can change a local variable"},
        {function() db:wait(n, "1") end, "a timeout is a number of seconds, not a string"},
        {function() db:wait(n, 0 / 0) end, "a timeout is a number of seconds, not NaN"},
        {function() db:wait(n, 1, -1) end, "a place in the log is an integer, 0 or more"},
        {function() db:wait(n, 1, "x") end, "a place in the log is an integer, 0 or more"},
    },
    ci = {
        {function() db:ci(7) end, "a routine of M is told as text, not by a number"},
        {function() db:ci("a^b", 1, {}) end, "argument 2 of a routine of M is a string, a number or"},
        {function() db:ci("a^b", n) end, "of a routine of M is a string, a number or a boolean, not a node"},
    },
    require = {
        {function() db:require() end, "a call-in table is told as text, not by a nil"},
        {function() db:require("f: void a^b(I:long)").f(print) end,
            "argument 1 of a routine of M is a string, a number or a boolean, not a function"},
    },
    changes = {
        {function() db:changes(7) end, "the options of changes are a table, not a number"},
        {function() db:changes {to = 1} end, "changes has no option 'to'; there are from, prefix, wait"},
        {function() db:changes {from = 1.5} end, "a place in the log is an integer, 0 or more"},
        {function() db:changes {prefix = 7} end, "a variable name or a node was expected, not a number"},
        {function() db:changes {prefix = "t"} end, "a local variable is in no log"},
        {function() db:changes {wait = true} end, "option wait is a number of seconds, not a boolean"},
    },
    place = {},
    sync = {}, durable = {}, checkpoint = {}, stat = {}, usage = {}, path = {}, close = {},
}

local nodes = {
    set = {
        {function() n:set() end, "set needs a value"},
        {function() n:set(true) end, "value must be a string or a number, not a boolean"},
        {function() n:set(1 / 0) end, "INVALID: "},
    },
    number = {
        {function() n.word:number() end, "the value 'word' is not a number"},
        {function() n.bytes:number() end, 'the value "12"_$C(0)_"oaks" is not a number'},
    },
    incr = {
        {function() n:incr({}) end, "increment must be a number, or its text, not a table"},
        {function() n:incr(("1"):rep(300)) end, "increment of 300 characters is too long"},
    },
    get_many = {
        {function() n:get_many(1) end, "get_many takes a table of subscripts, not a number"},
        {function() n:get_many {{}} end, "subscript must be a string or a number, not a table"},
    },
    range = {
        {function() n:range(5) end, "options of range are a table, not a number"},
        {function() n:range {form = 1} end,
            "range has no option 'form'; there are from, to, before, prefix, reverse, limit"},
        {function() n:range {prefix = 12} end, "option prefix of range is a string, not a number"},
        {function() n:range {prefix = "a", to = "b"} end, "range takes a prefix, or from and to"},
        {function() n:range {before = 1, to = 2} end, "range takes to or before, not both"},
        {function() n:range {from = {}} end, "subscript must be a string or a number, not a table"},
        {function() n:range {limit = -1} end, "option limit of range is a number of children"},
    },
    kill = {
        {function() n:kill("word") end, "kill takes no argument: n(subscript):kill() is for a child"},
        {function() n:kill {from = 1} end, "kill takes no argument"},
    },
    delete = {{function() n:delete("word") end, "delete takes no argument: n(subscript):delete()"}},
    kill_range = {
        {function() n:kill_range() end, "kill_range needs from, to, before or prefix"},
        {function() n:kill_range {from = nil} end, "kill_range needs from, to, before or prefix"},
        {function() n:kill_range(5) end, "options of kill_range are a table, not a number"},
        {function() n:kill_range {limit = 1} end, "kill_range has no option 'limit'"},
        {function() n:kill_range {from = {}} end, "subscript must be a string or a number, not a table"},
        {function() n:kill_range {to = 0 / 0} end, "INVALID"},
        {function() n:kill_range {prefix = 12} end, "option prefix of kill_range is a string, not a number"},
        {function() n:kill_range {prefix = "a", before = 1} end, "kill_range takes a prefix, or from and to"},
        {function() n:kill_range {to = 1, from_string = 1} end, "option from_string is true or false"},
        {function() n:kill_range {to = ("x"):rep(2000)} end, "KEY2BIG"},
    },
    walk = {{function() n:walk("deep") end, "walk takes a number of levels"}},
    next = {{function() n:next({}) end, "subscript must be a string or a number, not a table"}},
    cursor = {{function() n:cursor() end, "subscript must be a string or a number, not a nil"}},
    move = {
        {function() n:move(1) end, "only a cursor can be moved: node:cursor(sub) makes one"},
        {function() n:cursor(1):move() end, "subscript must be a string or a number, not a nil"},
    },
    previous = {{function() n:previous(f) end, "subscript must be a string or a number, not a function"}},
    grab = {
        {function() n:grab("soon") end, "timeout is a number of seconds, not a string"},
        {function() n:grab(0 / 0) end, "timeout is a number of seconds, not NaN"},
    },
    lock_incr = {{function() n:lock_incr({}) end, "timeout is a number of seconds, not a table"}},
    lock = {{function() n:lock(true) end, "timeout is a number of seconds, not a boolean"}},
    release = {{function() n:release() end, "NOTLOCKED: "}},
    lock_decr = {{function() n:lock_decr() end, "NOTLOCKED: "}},
    settree = {
        {function() n:settree() end, "settree needs a table, not a nil"},
        {function() n:settree(n.word) end, "settree needs a table, not a node"},
        {function() n:settree({a = f}) end,
            'settree: a value must be a string or a number, not a function: ^'},
        {function() n:settree({[true] = 1}) end, "subscript must be a string or a number, not a boolean"},
        {function() n:settree({}, 5) end, "settree: the filter is a function, not a number"},
    },
    gettree = {
        {function() n:gettree("all") end, "gettree: maxdepth is a number, not a string"},
        {function() n:gettree(1, {}) end, "gettree: the filter is a function, not a table"},
    },
    json = {
        {function() n:json("x") end, "options of json are a table, not a string"},
        {function() n:json(n) end, "options of json are a table, not a node"},
        {function() n:json {spaces = 1} end, "json has no option 'spaces'; there is indent"},
        {function() n:json {indent = true} end, "option indent of json is a number of spaces or a string"},
        {function() n:json {indent = -1} end, "number of spaces from 0 to 999, not -1"},
        {function() n:json {indent = 0 / 0} end, "number of spaces from 0 to 999, not "},
    },
    setjson = {
        {function() n:setjson() end, "setjson needs JSON text, not a nil"},
        {function() n:setjson(n) end, "setjson needs JSON text, not a node"},
        {function() n:setjson("[1,") end, "SYNTAX: the JSON text at line 1, column 4"},
    },
    merge = {
        {function() n:merge() end, "a node was expected, not a nil"},
        {function() n:merge {a = 1} end, "a node was expected, not a table"},
        {function() n:merge(n.word) end, "INVALID: "},
    },
    copy_to = {{function() n:copy_to("^t") end, "a node was expected, not a string"}},
    move_to = {
        {function() n:move_to() end, "a node was expected, not a nil"},
        {function() n.word:move_to(n) end, "INVALID: "},
    },
    put = {
        {function() n:put() end, "put needs a value"},
        {function() n:put("a", f) end, "value must be a string or a number, not a function"},
        {function() n:put(f, 1) end, "subscript must be a string or a number, not a function"},
    },
    add = {
        {function() n:add() end, "add needs a value"},
        {function() n:add({}) end, "value must be a string or a number, not a table"},
    },
    swap = {
        {function() n:swap() end, "swap needs a value"},
        {function() n:swap(f) end, "value must be a string or a number, not a function"},
    },
    dump = {
        {function() n:dump("x") end, "dump: maxlines is a number, not a string"},
        {function() n:dump(n) end, "dump: maxlines is a number, not a node"},
    },
    get = {}, data = {}, has_value = {}, has_tree = {}, subscripts = {}, pairs = {},
    random = {}, count = {}, exists = {}, first = {}, last = {},
    name = {}, varname = {}, depth = {}, subsarray = {}, repr = {}, ismutable = {},
}

-- What needs no database, and so is answered after it was closed.
local addresses = {name = true, varname = true, depth = true, subsarray = true, repr = true, ismutable = true}

-- What can't be done to another database in a transaction.
local changing = {set = true, incr = true, delete = true, kill = true, kill_range = true,
    settree = true, setjson = true,
    merge = true, move_to = true, put = true, add = true, swap = true,
    grab = true, lock_incr = true, release = true, lock_decr = true, lock = true, tp = true}
local wants = {move = true, cursor = true} -- a subscript: tried in test_second.lua

-- What those need that look at it before anything else.
local aside = db.node("^aside")
local arguments = {set = 1, put = 1, add = 1, swap = 1,
    merge = aside, copy_to = aside, move_to = aside, setjson = "1", get_many = {"a"}, settree = {a = 1}}

local others = { -- what is not a function
    {function() n.x = 5 end, "a node is not a table: write node['x'].__ = value"},
    {function() n[1] = 5 end, "a node is not a table: write node[1].__ = value"},
    {function() n[""] = 5 end, "a node is not a table: write node[''].__ = value"},
    {function() n._x = 5 end, "a node is not a table: write node['_x'].__ = value"},
    {function() n.__x = 5 end, "a node is not a table: write node('__x').__ = value"},
    {function() n[{}] = 5 end, "subscript must be a string or a number, not a table"},
    {function() n.__ = {} end, "value must be a string or a number, not a table"},
    {function() return n[true] .. "" end, "subscript must be a string or a number, not a boolean"},
    {function() return n(nil, 1) .. "" end, "subscript must be a string or a number, not a nil"},
    {function() n(nil):kill() end, "subscript must be a string or a number, not a nil"},
    {function() return n.word(nil) .. "" end, "subscript must be a string or a number, not a nil"},
    {function() return n[n] .. "" end, "subscript must be a string or a number, not a node"},
    {function() return n(1, n) .. "" end, "subscript must be a string or a number, not a node"},
    {function() n.__ = n end, "value must be a string or a number, not a node"},
    {function() return n + {} .. "" end, "increment must be a number, or its text, not a table"},
    {function() return n - f .. "" end, "increment must be a number, or its text, not a function"},
    {function() n:nothing() end, "nodes have no method 'nothing'"},
    {function() n:__nothing() end, "nodes have no method 'nothing'"},
    -- what can't be read, and a NUL that would end the message, is shown as ZWR text
    {function() n["__a\0b"]() end, 'nodes have no method "a"_$C(0)_"b"; the subnode of that name'},
    {function() n["__a\0b"]() end, 'is node("__a"_$C(0)_"b")'},
    {function() n["a\0b"](n) end, 'nodes have no method "a"_$C(0)_"b"'},
    {function() n["a\27b"] = 5 end, 'write node["a"_$C(27)_"b"].__ = value'},
    {function() n.a.b = 5 end, "write node['b'].__ = value"},
    {function() n[7] = 5 end, "write node[7].__ = value"},
    {function() caret.open("x", {["a\0b"] = 1}) end, 'open has no option "a"_$C(0)_"b"; there are create'},
    {function() caret.open("x", {sync = "a\0b"}) end, '\'off\', not "a"_$C(0)_"b"'},
    {function() db:check("a\0b") end, 'nothing, not "a"_$C(0)_"b"'},
    {function() db:tp("a\0b", f) end, '\'ALONE\', not "a"_$C(0)_"b"'},
    {function() db:tp({"^a\0b"}, f) end, 'local variables, not "^a"_$C(0)_"b"'},
    {function() db:changes {["a\0b"] = 1} end, 'changes has no option "a"_$C(0)_"b"; there are from'},
    {function() n:json {["a\0b"] = 1} end, 'json has no option "a"_$C(0)_"b"; there is indent'},
    {function() n:setjson '{"a\\u0000":1,"a\\u0000":2}' end, 'second member "a"_$C(0) of one object'},
    {function() n:range {["a\0b"] = 1} end, 'range has no option "a"_$C(0)_"b"; there are from'},
}

TestMisuse = {}

function TestMisuse:test_only_before_the_colon_a_colon_is_missed()
    for _, name in ipairs {"merge", "copy_to", "move_to"} do
        local _, text = pcall(n[name], n, 5)
        lu.assertStrContains(text, "a node was expected, not a number")
        lu.assertNotStrContains(text, "call methods")
    end
    lu.assertErrorMsgContains("a node was expected, not a number (call methods with ':')", n.__merge, 5, n)
end

function TestMisuse:test_caches_and_feeds_miss_their_colon_too()
    local function told(what, object, names, ...)
        for _, name in ipairs(names) do
            local ok, text = pcall(object[name], ...)
            lu.assertFalse(ok, name)
            local found = type((...))
            lu.assertStrContains(text, what .. " was expected, not a " .. found .. " (call methods with ':')")
        end
    end
    local cache, feed = require "caret.cache".new(db, "^cache"), assert(db:changes {wait = 0})
    told("a cache", cache, {"get", "get_stale", "set", "add", "replace", "incr", "touch", "expire", "ttl",
        "delete", "flush", "flush_expired", "get_keys", "stats"}, "key", 5)
    told("a cache", cache, {"get", "get_stale", "set", "add", "replace", "incr", "touch", "ttl", "delete"},
        "key", nil)
    told("a cache", cache, {"get", "get_stale", "set", "add"}, "key", "value")
    told("a feed of changes", feed, {"next", "place", "close"}, 1)
    local _, text = pcall(function() local value = cache.get("key") return value end)
    lu.assertStrContains(text, "test_misuse.lua:")
    feed:close()
end

function TestMisuse:setUp()
    n:kill()
    n.word.__ = "word"
    n.bytes.__ = "12\0oaks"
end

-- The call raises that, and blames the line of the function it is in.
local function check(call, says, what)
    local ok, err = pcall(call)
    lu.assertFalse(ok, what)
    lu.assertEquals(type(err), "string", what)
    lu.assertStrContains(err, says, false, false, what)
    local line = ("test_misuse.lua:%d: "):format(debug.getinfo(call, "S").linedefined)
    lu.assertStrContains(err, line, false, false, what)
end

local function check_all(cases, names)
    for name in pairs(names) do
        lu.assertNotNil(cases[name], name .. " is in no table of test_misuse.lua")
    end
    for name, calls in pairs(cases) do
        lu.assertNotNil(names[name], name .. " is not a function any more")
        for i, case in ipairs(calls) do check(case[1], case[2], name .. " " .. i) end
    end
end

local function database_methods()
    return fixture.database_methods(db)
end

local function node_methods()
    return fixture.node_methods(db)
end

function TestMisuse:test_functions_of_the_module()
    local names, methods = {close = true}, database_methods()
    for name, value in pairs(caret) do
        if type(value) == "function" and not methods[name] then names[name] = true end
    end
    check_all(functions, names)
end

function TestMisuse:test_methods_of_databases()
    check_all(databases, database_methods())
end

function TestMisuse:test_methods_of_nodes()
    check_all(nodes, node_methods())
end

-- Right after `return` Lua keeps no line of the call, and pcall has none: that of the next caller is told.
function TestMisuse:test_calls_of_M_after_return()
    for _, call in ipairs {
        function() return db:ci(7) end,
        function() return db:ci("a^b", {}) end,
        function() return db:require(7) end,
    } do
        local ok, err = pcall(call)
        lu.assertFalse(ok)
        lu.assertStrMatches(err, ".*test_misuse%.lua:%d+: .*, not .*")
    end
end

function TestMisuse:test_what_is_no_function()
    for i, case in ipairs(others) do check(case[1], case[2], i) end
end

function TestMisuse:test_methods_of_the_wrong_thing()
    for name in pairs(node_methods()) do
        local method = n["__" .. name]
        for _, bad in ipairs {5, "^t", {}, db, io.stdout, f} do
            check(function() method(bad, {}) end, "a node was expected, not a ", name)
        end
        check(function() method() end, "a node was expected, not a ", name)
    end
    for name in pairs(database_methods()) do
        local method = db[name]
        if name ~= "node" then -- it knows its database
            for _, bad in ipairs {5, "^t", {}, n, io.stdout} do
                check(function() method(bad) end, "a database was expected, not a ", name)
            end
            check(function() method() end, "a database was expected, not a ", name)
        end
    end
end

function TestMisuse:test_a_closed_database()
    local closed = fixture.open()
    local x = closed.node("^t", "x")
    local methods, steps = {}, {x:subscripts(), x:pairs(), x:range(), x:walk(), closed:variables()}
    for name in pairs(node_methods()) do methods[name] = x["__" .. name] end
    closed:close()
    for name, method in pairs(methods) do
        local call = function() method(x, arguments[name]) end
        if addresses[name] then call() else check(call, "CLOSED: ", name) end
    end
    for name in pairs(database_methods()) do
        local call = function() closed[name](closed, "^t", f) end
        if name == "close" then call() else check(call, "CLOSED: ", name) end
    end
    for i, step in ipairs(steps) do
        check(function() step() end, "CLOSED: ", i)
    end
    check(function() return x.y .. "" end, "CLOSED: ")
    check(function() x.__ = 1 end, "CLOSED: ")
    check(function() return x + 1 .. "" end, "CLOSED: ")
    lu.assertEquals(tostring(x), '^t("x")')
end

function TestMisuse:test_another_database_in_a_transaction()
    local other = fixture.open()
    local x, methods = other.node("^t", "x"), {}
    for name in pairs(node_methods()) do methods[name] = x["__" .. name] end
    local both = other:path() .. " can't be "
    db:tp(function()
        for name, method in pairs(methods) do
            local call = function() method(x, arguments[name]) end
            if changing[name] then check(call, both, name) elseif not wants[name] then call() end
        end
        for _, name in ipairs {"get", "data", "sync", "durable", "stat", "path", "variables"} do
            other[name](other, "^t")
        end
        for _, name in ipairs {"kill", "delete", "incr"} do
            check(function() other[name](other, "^t") end, both, name)
        end
        check(function() other:set("^t", 1) end, both)
        check(function() other:lock {x} end, both)
        check(function() other:wait(x, 0) end, both)
        check(function() other:tp(f) end, both)
        check(function() other:transaction(f)() end, both)
    end)
    other:close()
end

function TestMisuse:test_yielding_in_a_transaction_is_refused()
    local function nested() db:tp(db.tp, db, coroutine.yield) end
    for _, run in ipairs {db.tp, db.snapshot, nested} do
        local ok, err = coroutine.resume(coroutine.create(function() run(db, coroutine.yield) end))
        lu.assertFalse(ok)
        lu.assertStrMatches(err, ".*can't leave a transaction or snapshot midway: .*attempt to yield.*")
        lu.assertNotStrContains(err:gsub("midway", "", 1), "midway")
        n.after.__ = 1 -- it is over
        lu.assertEquals(n.after.__, "1")
    end
end

-- ------------------------------------------------------------------ yottadb

local ydb = require "yottadb"

local harmless = {init = true, block_M_signals = true, ydb_eintr_handler = true, isnode = true,
    get_error_code = true}
local coded = {trestart = true, trollback = true} -- raise a code, whatever they are given
-- not bad for these
local takes = {str2zwr = 5, zwr2str = 5, tp = f, transaction = f, inherit = f, counted = f}

function TestMisuse:test_functions_of_yottadb()
    ydb.set("$ZGBLDIR", fixture.path)
    local count = 0
    for name, value in pairs(ydb) do
        if type(value) == "function" and harmless[name] then
            value(5)
        elseif type(value) == "function" and coded[name] then
            local ok, err = pcall(value)
            lu.assertFalse(ok)
            lu.assertStrMatches(err, "YDB Error: %-?%d+: .*")
        elseif type(value) == "function" then
            for _, bad in ipairs {5, true, f, {{}}} do
                if takes[name] ~= bad then
                    check(function() value(bad, {{}}) end, "", name)
                    count = count + 1
                end
            end
        end
    end
    lu.assertTrue(count > 80)
end

fixture.run(function()
    require("yottadb.database").current():close()
    db:close()
end)
