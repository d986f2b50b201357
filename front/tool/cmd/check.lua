-- caret check: walk everything in a database and tell what is wrong.

local command = require "tool.lib.command"
local json = require "tool.lib.json"

local function split(report)
    local findings = {}
    for line in (report or ""):gmatch("[^\n]+") do findings[#findings + 1] = line end
    return findings
end

local function run(o)
    command.file_operand(o)
    local db, what, name = command.try(o)
    local path, ok, report = db and db:path() or command.path(o), nil, what
    if db then
        ok, what, name, report = db:check(o.online and "online" or nil)
    end
    if not ok and name ~= "CORRUPT" then command.fail(what) end
    local findings = split(report)
    if o.json then
        local result = json.object("file", path, "clean", ok and true or false, "findings", findings)
        print(json.encode(result))
    elseif ok then
        print(path .. ": nothing is wrong")
    else
        for _, line in ipairs(findings) do print(line) end
        print(("%s: %d finding%s"):format(path, #findings, #findings == 1 and "" or "s"))
    end
    return ok and 0 or 1
end

return {
    summary = "walk everything in a database and tell what is wrong",
    operands = {"[FILE]"},
    options = {
        {"--online", "check a snapshot of what is on the disk: no writer waits"},
        command.READONLY, command.JSON, command.DB,
    },
    about = [[
Pages, their order, free space and shared structures are walked. It may be in use: writers wait
meanwhile, but not with --online, nor with --readonly, which checks the last checkpoint. Exit status 1:
something is wrong.]],
    run = run,
}
