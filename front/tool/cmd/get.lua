-- caret get: values.

local command = require "tool.lib.command"
local nodes = require "tool.lib.nodes"

local function show(o, node)
    if o.json then return node:__json() end
    local value = node:__get()
    return value and (o.zwr and nodes.zwr(value) or value)
end

local function run(o)
    local db, status = command.view(o), 0
    for _, text in ipairs(o) do
        local shown = show(o, command.node(db, text))
        if not shown then
            status = 1
        else
            command.write(shown, o.raw and "" or "\n")
        end
    end
    return status
end

return {
    summary = "print the value of a node",
    operands = {"NODE..."},
    options = {
        {"--raw", "nothing but the bytes: no line break after the value"},
        {"--zwr", "in quotes, with what can't be printed by number"},
        {"--json", "the node and all below it, as JSON"},
        command.DB,
    },
    about = [[
Exit status 1: a node has no value (with --json: nor anything below); for that one nothing is printed.]],
    examples = {{"caret get '^oaks(1,\"shadow\")'"}, {"caret get --json '^oaks'"}},
    run = run,
}
