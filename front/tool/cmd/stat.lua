-- caret stat: sizes and counts of a database.

local command = require "tool.lib.command"
local json = require "tool.lib.json"

local rows = { -- field of db:stat(), what it says
    {"pages", "pages of the file"},
    {"free_pages", "of them free"},
    {"dead_pages", "of them dead, free after the next checkpoint"},
    {"held_pages", "of them dead, kept for snapshots"},
    {"snapshots", "processes that read snapshots"},
    {"depth", "levels of the tree"},
    {"arena_slots", "pages that shared memory has room for now"},
    {"arena_used", "of them in use: changed since the last checkpoint"},
    {"arena_huge", "bytes of shared memory that were made of huge pages"},
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
local level_fields = {"pages", "entries", "used", "size"}
local global_fields = {"name", "nodes", "leaves", "bytes", "long_values", "long_bytes", "long_pages"}

-- What takes most room comes first.
local function usage_of(db)
    local usage, damage = db:usage()
    if not usage then command.fail(damage) end
    table.sort(usage.globals, function(a, b)
        local x, y = a.bytes + a.long_bytes, b.bytes + b.long_bytes
        if x ~= y then return x > y end
        return a.name < b.name
    end)
    return usage
end

local function print_json(db, stat, usage)
    local list = {"file", db:path()}
    local function add(name, value)
        list[#list + 1] = name
        list[#list + 1] = value
    end
    local function all(tables, names)
        local objects = {}
        for i, t in ipairs(tables) do objects[i] = json.fields(t, names) end
        return objects
    end
    for _, row in ipairs(rows) do add(row[1], stat[row[1]]) end
    add("view", stat.view)
    if usage then
        add("levels", all(usage.levels, level_fields))
        add("globals", all(usage.globals, global_fields))
    end
    print(json.encode(json.object(table.unpack(list))))
end

local function print_usage(usage)
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

local function run(o)
    command.file_operand(o)
    local db = command.open(o)
    local stat = db:stat()
    local usage = not o.quick and usage_of(db) or nil
    if o.json then
        print_json(db, stat, usage)
        return 0
    end
    print(db:path())
    for _, row in ipairs(rows) do print(("%15d  %s"):format(stat[row[1]], row[2])) end
    if o.readonly then print(("%15s  what is seen: see caret_open"):format(stat.view)) end
    if usage then print_usage(usage) end
    return 0
end

return {
    summary = "sizes and counts of a database, and what fills it",
    operands = {"[FILE]"},
    options = {
        {"--quick", "do not walk the tree: no levels and globals"},
        command.READONLY, command.JSON, command.DB,
    },
    about = [[
It walks a snapshot of the whole tree to tell pages and fill by level, nodes and bytes by global; a large
one takes a while, and nobody waits for it.]],
    run = run,
}
