-- caret log: what was committed since the last checkpoint.

local command = require "tool.lib.command"
local host = require "caret.host"
local changes = require "tool.lib.changes"

local function run(o)
    if o.node then command.address(o.node) end
    local log = changes.open(command.open(o), o.from and o.from or 0)
    local n = 0
    while not host.interrupted() and (not o.limit or n < o.limit) do
        local change = log:next(o.node)
        if not change then break end
        n = n + 1
        command.write(o.json and changes.json(change) or changes.line(change), "\n")
    end
    if n == 0 and host.isatty(2) then
        io.stderr:write("caret log: nothing was committed since the last checkpoint\n")
    end
    return n > 0 and 0 or 1
end

return {
    summary = "print what was committed since the last checkpoint",
    options = {
        {"--from N", "begin after this place in the log, as it is printed"},
        {"--node NODE", "only what changed there and below"},
        {"-n, --limit N", "so many changes at most"},
        command.JSON, command.DB,
    },
    about = [[
A line for each change: the place in the log after its commit, which change of that commit it is, set,
delete, kill or kill_range, and the node with its value. The node of a kill_range is the parent of what was
killed, and the bounds come after it. Increments and merges are sets of what came of them. What a
checkpoint has put into the data file is not needed any more, and is not shown; so of a database that
nobody else has open there is nothing. Exit status 1: there is nothing.]],
    examples = {{"caret log --node '^oaks' --json"}},
    catches = true,
    run = run,
}
