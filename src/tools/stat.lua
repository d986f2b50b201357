-- caret stat: sizes and counts of a database.
--
-- caret stat [FILE] [--db FILE] [--json]
-- Exit status: 0 fine, 2 usage, 3 it can't be opened.

local caret = require "caret"
local arguments = require "caret.arguments"

local path, json = arguments.database("stat", {...})
local db, text = caret.open(path, {create = false, progress = arguments.progress})
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
for i, row in ipairs(rows) do
    lines[i] = json and ('"%s":%d'):format(row[1], stat[row[1]]) or ("%15d  %s"):format(stat[row[1]], row[2])
end
if json then
    print(('{"file":%s,%s}'):format(arguments.quote(db:path()), table.concat(lines, ",")))
else
    print(db:path() .. "\n" .. table.concat(lines, "\n"))
end
db:close()
return 0
