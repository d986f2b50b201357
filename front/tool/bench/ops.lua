-- caret bench ops: operations of the C interface and of Lua, one by one.

local caret = require "caret"
local host = require "caret.host"
local measure = require "caret.measure"
local rows = require "tool.bench.rows"

local ops = {}

local function in_c(list, path, o)
    for _, name in ipairs(measure.operations) do
        local count = name == "sequential set" and o.n or o.count
        list[#list + 1] = rows.new("C: " .. name, measure.operation(path, name, o.n, count))
    end
end

-- The same, and what is Lua's own, on ^BCAT(1..n).
local function lua_operations(db, n)
    local t, one, counter = db.node("^BCAT"), db.node("^BCAT", 1), db.node("^count")
    local transaction = db:transaction(function()
        local v = one.__
        one.__ = v
    end)
    return {
        {"node[i].__", function(i) local _ = t[i * 7919 % n + 1].__ end},
        {"node[i].__ = v", function(i) t[i * 7919 % n + 1].__ = i end},
        {"node[i]", function(i) local _ = t[i] end},
        {"node.__, one node", function() local _ = one.__ end},
        {"node.__ = v, one node", function(i) one.__ = i end},
        {"node:incr()", function() counter:incr() end},
        {"node:grab(), release()", function()
            one:grab()
            one:release()
        end},
        {"transaction (get, set)", function() transaction() end},
    }
end

local function in_lua(list, path, o)
    local db = assert(caret.open(path))
    for _, operation in ipairs(lua_operations(db, o.n)) do
        measure.calls(operation[2], o.count // 10)
        list[#list + 1] = rows.new("Lua 5.4: " .. operation[1], measure.calls(operation[2], o.count))
    end
    db:close()
end

function ops.run(o)
    local list = {}
    host.scratch(function(dir)
        in_c(list, dir .. "/ops.caret", o)
        in_lua(list, dir .. "/ops.caret", o)
    end)
    for _, row in ipairs(list) do row.n, row.workers = o.n, 1 end
    rows.print("ops", list, o)
    return 0
end

return ops
