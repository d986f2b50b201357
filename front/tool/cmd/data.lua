-- caret data: what is there?

local command = require "tool.lib.command"
local json = require "tool.lib.json"

local function run(o)
    local node = command.node(command.view(o), o[1])
    local data = node:__data()
    print(o.json and json.encode(json.object("node", json.node(node), "data", data)) or data)
    return data == 0 and 1 or 0
end

return {
    summary = "tell whether a node has a value, or children",
    operands = {"NODE"},
    options = {command.JSON, command.DB},
    about = [[
It prints

    0    nothing
    1    a value
    10   children
    11   both

and the exit status is 1 if there is nothing.]],
    run = run,
}
