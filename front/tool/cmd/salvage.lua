-- caret salvage: write every node that can still be read of a damaged database to a file.

local caret = require "caret"
local command = require "tool.lib.command"
local json = require "tool.lib.json"

local rows = { -- count, what it says
    {"nodes", "nodes written"},
    {"leaves", "leaves read"},
    {"lost_pages", "pages lost: in use, and nothing that can be read"},
    {"lost_values", "long values lost"},
    {"doubtful_leaves", "leaves that may be from an older state"},
    {"stale_leaves", "leaves left out, copies from before"},
    {"logged", "changes taken from the log"},
    {"pages", "pages of the file"},
    {"epoch", "epoch of the checkpoint"},
}

local function print_json(o, counts, lost, findings)
    local fields = {"file", o[1], "out", o[2], "lost", lost}
    for _, row in ipairs(rows) do
        fields[#fields + 1] = row[1]
        fields[#fields + 1] = counts[row[1]]
    end
    fields[#fields + 1] = "findings"
    fields[#fields + 1] = findings
    print(json.encode(json.object(table.unpack(fields))))
end

local function run(o)
    local counts, lost, report = caret.salvage(o[1], o[2], o.sure)
    if not counts then command.fail(lost) end
    local findings = {}
    for line in report:gmatch("[^\n]+") do findings[#findings + 1] = line end
    if o.json then
        print_json(o, counts, lost, findings)
    else
        for _, line in ipairs(findings) do print(line) end
        for _, row in ipairs(rows) do print(("%15d  %s"):format(counts[row[1]], row[2])) end
        print(("%s: %s"):format(o[1], lost and "something is lost, or can't be known" or "nothing is lost"))
    end
    return lost and 1 or 0
end

return {
    summary = "write what can still be read of a damaged database to a file",
    operands = {"SRC", "OUT"},
    options = {{"--sure", "leave out what may be from an older state"}, command.JSON},
    about = [[
SRC may be damaged in any way, and must not be open; it is not changed. OUT must not exist; it becomes
ZWR text, which `caret load` reads. Exit status 1: something is lost, or it can't be known; the file is
written all the same.]],
    examples = {{"caret salvage broken.caret saved.zwr && caret load --db new.caret saved.zwr"}},
    run = run,
}
