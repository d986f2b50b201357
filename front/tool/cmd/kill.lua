-- caret kill: take nodes away.

local command = require "tool.lib.command"

local function run(o)
    local db = command.open(o)
    local list = {}
    for i, text in ipairs(o) do list[i] = command.node(db, text) end
    db:tp(function()
        for _, node in ipairs(list) do
            if o.value then node:__delete() else node:__kill() end
        end
    end)
    return 0
end

return {
    summary = "take nodes away, with all below them",
    operands = {"NODE..."},
    options = {{"--value", "take only the values of the nodes, and leave what is below"}, command.DB},
    about = "All of them or none. What is not there is not an error.",
    examples = {{"caret kill '^oaks(1)'"}, {"caret kill --value '^oaks'"}},
    run = run,
}
