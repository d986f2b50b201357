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
