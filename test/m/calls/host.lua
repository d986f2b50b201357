-- Calls of M from a Lua of its own: test/run/m_calls.sh runs this in the folder of calls.m.
local ydb = require "yottadb"

local m = ydb.require "calls.ci"
local function show(...)
    local list = {...}
    for i = 1, select("#", ...) do list[i] = tostring(list[i]) end
    print(table.concat(list, " "))
end
show(m.types("t", "in", "ab", -5, 4294967295, 1234567890123, .5, 2.5, -7, 1))
local n = ydb.require [[
short: ydb_string_t*[3] tight^calls()
number: long* tight^calls()
wraps: int* wide^calls(I:ydb_int_t, O:string*[4])
]]
show(n.short(), n.number() + 1, n.wraps(4294967295, nil))
show(ydb.ci("$$tight^calls"), ydb.ci("put^calls"), ydb.get("^put"))
show(select(2, pcall(m.undefined)))
show(select(2, pcall(m.missing)))
show(select(2, pcall(ydb.require, "nowhere.ci")))
show(pcall(ydb.tp, function()
    ydb.ci("put^calls")
    ydb.set("^put", ydb.get("^put") + ydb.ci("$$tight^calls"))
    return ydb.YDB_TP_ROLLBACK
end))
show(ydb.get("^put"))

-- Local variables are one set, in both languages.
ydb.set("early", "a", 1, "set before")
ydb.ci("local^calls", "M's")
show(ydb.ci("$$walk^calls", "early"))
show(ydb.get("shared"), ydb.get("shared", "a", 1.5), ydb.data("shared"))
ydb.set("shared", "a", 1, "Lua's")
ydb.incr("shared", "n", 5)
ydb.delete_tree("shared", "a", 1.5)
show(ydb.ci("$$walk^calls", "shared"))
for sub in ydb.subscripts("shared", "") do show(sub) end
show(table.concat(ydb.node_next("shared", "a"), ","))
local runs = 0
ydb.tp({"tried"}, function()
    runs = runs + 1
    ydb.ci "tp^calls"
    if runs < 3 then return ydb.YDB_TP_RESTART end
end)
show(ydb.get "tried", ydb.get "kept")

-- What conflicts with others in M begins the transaction again.
local function conflict(transaction, get, ci)
    local times, level = 0, nil
    transaction(function()
        times = times + 1
        get()
        if times == 1 then os.execute(os.getenv "CHANGE") end
        level = ci("$$inside^calls", 1)
    end)()
    show(times, level)
end
conflict(ydb.transaction, function() return ydb.get "^ofc" end, ydb.ci)

-- The same of the module caret.
local caret = require "caret"
local db = caret.open(os.getenv "CARET_DB")
conflict(function(f) return db:transaction(f) end, function() return db.node("^ofc").__ end,
    function(...) return db:ci(...) end)
local functions = db:require "count: long* count^calls()\nwide: string* wide^calls(I:string*, O:string*)"
db.node("x")("a").__ = "text"
show(db:ci("$$walk^calls", "x"), functions.wide("a"))
db:ci("local^calls", "again")
show(db.node("shared").__, db.node("shared"):count(), functions.count() > 0)
show(pcall(db.ci, db, "undef^calls"))
show(pcall(db.require, db, "nowhere.ci"))
show(pcall(db.require, db, "x: int y^z(Q:int)"))
-- $ZMAXTPTIME is the process's.
ydb.set("$ZMAXTPTIME", 70)
show(m.setting("$zmaxtptime", ""), m.setting("$zmaxtptime", "0"), ydb.get "$ZMAXTPTIME")

local unpack = table.unpack or unpack -- luacheck: ignore 143

-- What becomes of values, and which database errors and $ZGBLDIR name.
local echo = db:require "echo: string* echo^calls(I:string*)".echo
for _, v in ipairs {1e14, 123456789012345, 2 ^ 53 - 1, -3.0, -0.0, .5, 1e300, true, false, "1e5"} do
    show(v == "1e5" or echo(v), db:ci("$$echo^calls", v), ydb.ci("$$echo^calls", v))
end
-- A number of M is a text, but where a table says what it is.
show(type(db:ci "$$count^calls"), type(functions.count()), type(echo(5)))
show(db:require "int: string* echo^calls(I:long)".int(true))
show(select(2, pcall(db.ci, db, "$$echo^calls", unpack({}, 1, 33))):match "M takes.*")
local path = os.getenv "CARET_DB" .. "-other"
local other = caret.open(path)
show(other:ci "$$gbldir^calls" == path)
show(select(2, pcall(other.snapshot, other, function() other:ci "put^calls" end)):sub(-#path) == path)

-- What a level began is rolled back where its trap ends; the transaction of the caller goes on.
local on = db:transaction(function()
    db.node("^on").__ = 1
    return db:ci "$$trapped^calls"
end)
show(on(), db:get "^on", db:get "^traps")
