-- caret bench compare A.json B.json: what changed between two results.

local caret = require "caret"
local command = require "tool.lib.command"
local formats = require "3n1.rivals.formats"
local host = require "caret.host"
local json = require "tool.lib.json"

local compare = {}

local function is_result(t)
    if type(t) ~= "table" or type(t.rows) ~= "table" then return false end
    for _, row in ipairs(t.rows) do
        local named = type(row) == "table" and type(row.name) == "string"
        if not named or not tonumber(row.n) or not tonumber(row.workers) then return false end
    end
    return true
end

-- A JSON file as a table: Caret reads JSON into nodes.
local function read(db, path)
    local f, why = io.open(path)
    if not f then command.fail(why) end
    local text = f:read("a") or ""
    f:close()
    local node = db.node("results")
    if not pcall(node.setjson, node, text) then command.fail(path .. " is not JSON") end
    local t = node:gettree()
    if not is_result(t) then command.fail(path .. " is not a result of caret 3n1 or caret bench") end
    return t
end

-- The figure of a row in nanoseconds: its median; nil without one.
local function figure(row)
    if row.seconds then return tonumber(row.seconds) * 1e9 end
    return tonumber(row.p50_ns)
end

local function key(row)
    return ("%s|%s|%s"):format(row.name, row.n, row.workers)
end

-- Faster or slower only where the ranges, if there are any, do not touch.
local function verdict(a, b)
    local ratio = figure(b) / figure(a)
    if a.least and b.least and tonumber(b.least) <= tonumber(a.most) and
        tonumber(a.least) <= tonumber(b.most) then
        return ratio, "within the range"
    end
    if math.abs(ratio - 1) < 0.03 then return ratio, "the same" end
    return ratio, ratio < 1 and "faster" or "slower"
end

local function new_change(row, before, after)
    return {name = row.title or row.name, n = tonumber(row.n), workers = tonumber(row.workers),
        before = before, after = after}
end

local function change_of(old, row)
    local change = new_change(row, old and figure(old), figure(row))
    if change.before and change.after then
        change.ratio, change.verdict = verdict(old, row)
    else
        change.verdict = change.after and "new" or change.before and "lost" or "no figure"
    end
    return change
end

local function changes(a, b)
    local before, list = {}, {}
    for _, row in ipairs(a.rows) do before[key(row)] = row end
    for _, row in ipairs(b.rows) do
        list[#list + 1] = change_of(before[key(row)], row)
        before[key(row)] = nil
    end
    for _, row in ipairs(a.rows) do
        if before[key(row)] then
            list[#list + 1] = new_change(row, figure(row), nil)
            list[#list].verdict = "gone"
        end
    end
    return list
end

local function time(ns)
    return ns and (ns < 1e5 and ("%.0f ns"):format(ns) or formats.seconds(ns / 1e9)) or "none"
end

local function print_changes(list)
    print(("%-34s %10s %9s %10s %10s %7s"):format("", "N", "processes", "before", "after", "ratio"))
    for _, c in ipairs(list) do
        print(("%-34s %10s %9d %10s %10s %7s  %s"):format(c.name, formats.thousands(c.n), c.workers,
            time(c.before), time(c.after), c.ratio and ("%.2f"):format(c.ratio) or "", c.verdict))
    end
end

local function seconds(ns)
    return ns and ns / 1e9
end

local function print_json(list)
    local objects = {}
    for i, c in ipairs(list) do
        objects[i] = json.object("name", c.name, "n", c.n, "workers", c.workers, "before", seconds(c.before),
            "after", seconds(c.after), "ratio", c.ratio, "verdict", c.verdict)
    end
    command.write(json.encode(objects), "\n")
end

function compare.run(o)
    if not o[3] then command.usage("compare needs two files") end
    local list = host.scratch(function(dir)
        local db = assert(caret.open(dir .. "/compare.caret", {sync = "off"}))
        local a, b = read(db, o[2]), read(db, o[3])
        db:close()
        return changes(a, b)
    end)
    if o.json then print_json(list) else print_changes(list) end
    for _, c in ipairs(list) do
        if c.verdict == "lost" then return 1 end
    end
    return 0
end

return compare
