-- caret stat: sizes and counts of a database.
--
-- caret stat [FILE] [--db FILE] [--json] [--quick] [--readonly]
-- It walks a snapshot of the whole tree to tell what fills it, which takes a while if that is large; not
-- with --quick.
-- --readonly: without any right to write, and leaving no trace (see caret_open).
-- Exit status: 0 fine, 2 usage, 3 it can't be opened, or is damaged.

local caret = require "caret"
local arguments = require "caret.arguments"

local path, json, given = arguments.database("stat", {...}, {["--quick"] = true, ["--readonly"] = true})
local readonly = given["--readonly"] or false
local db, text = caret.open(path, {create = false, readonly = readonly, progress = arguments.progress})
if not db then arguments.fail("stat", text) end

local rows = { -- field of db:stat(), what it says
    {"pages", "pages of the file"},
    {"free_pages", "of them free"},
    {"held_pages", "of them dead, kept for snapshots"},
    {"snapshots", "processes that read snapshots"},
    {"depth", "levels of the tree"},
    {"arena_slots", "pages that shared memory has room for now"},
    {"arena_used", "of them in use: changed since the last checkpoint"},
    {"log_head", "end of the log"},
    {"log_durable", "of it on the disk"},
    {"checkpoint_lsn", "of it in the file"},
    {"epoch", "epoch"},
    {"checkpoints", "checkpoints since the first of these processes came"},
    {"repairs", "repairs after deaths"},
    {"processes", "processes attached, this one too"},
    {"gets", "gets of all of them"},
    {"sets", "sets"},
    {"commits", "commits"},
    {"restarts", "restarts of transactions"},
    {"lock_waits", "waits for locks"},
}
local stat, lines = db:stat(), {}
local usage, damage
if not given["--quick"] then
    usage, damage = db:usage()
    if not usage then arguments.fail("stat", damage) end
    table.sort(usage.globals, function(a, b) -- what takes most room first
        local x, y = a.bytes + a.long_bytes, b.bytes + b.long_bytes
        if x ~= y then return x > y end
        return a.name < b.name
    end)
end

--- A table of numbers (and a name) as JSON.
local function object(t, fields)
    local list = {}
    for i, name in ipairs(fields) do
        local v = t[name]
        list[i] = ('"%s":%s'):format(name, type(v) == "string" and arguments.quote(v) or ("%d"):format(v))
    end
    return "{" .. table.concat(list, ",") .. "}"
end

local function objects(list, fields)
    local out = {}
    for i, t in ipairs(list) do out[i] = object(t, fields) end
    return "[" .. table.concat(out, ",") .. "]"
end

local level_fields = {"pages", "entries", "used", "size"}
local global_fields = {"name", "nodes", "leaves", "bytes", "long_values", "long_bytes", "long_pages"}

local function print_usage()
    print("\nlevel      pages    entries   fill  (0: the leaves)")
    for i, l in ipairs(usage.levels) do
        print(("%5d %10d %10d %5.1f%%"):format(i - 1, l.pages, l.entries, 100 * l.used / l.size))
    end
    print("\n      nodes     leaves        bytes  long values        bytes  global")
    for _, g in ipairs(usage.globals) do
        print(("%11d %10d %12d %12d %12d  %s"):format(g.nodes, g.leaves, g.bytes, g.long_values, g.long_bytes,
            g.name))
    end
end

for i, row in ipairs(rows) do
    lines[i] = json and ('"%s":%d'):format(row[1], stat[row[1]]) or ("%15d  %s"):format(stat[row[1]], row[2])
end
if json then
    lines[#lines + 1] = '"view":' .. arguments.quote(stat.view)
    if usage then
        lines[#lines + 1] = '"levels":' .. objects(usage.levels, level_fields)
        lines[#lines + 1] = '"globals":' .. objects(usage.globals, global_fields)
    end
    print(('{"file":%s,%s}'):format(arguments.quote(db:path()), table.concat(lines, ",")))
else
    print(db:path() .. "\n" .. table.concat(lines, "\n"))
    if readonly then print(("%15s  what is seen: see caret_open"):format(stat.view)) end
    if usage then print_usage() end
end
db:close()
return 0
