-- caret kill: take nodes away.

local command = require "tool.lib.command"

local function run(o)
    local range = command.range(o)
    if range and o.value then command.usage("--value is about nodes, a range about their children") end
    local db = command.open(o)
    local list = {}
    for i, text in ipairs(o) do list[i] = command.node(db, text) end
    db:tp(function()
        for _, node in ipairs(list) do
            if range then node:__kill_range(range) elseif o.value then node:__delete() else node:__kill() end
        end
    end)
    return 0
end

return {
    summary = "take nodes away, with all below them",
    operands = {"NODE..."},
    options = {
        {"--value", "take only the values of the nodes, and leave what is below"},
        {"--from SUBSCRIPT", "kill children of the nodes, from there on", empty = true},
        {"--to SUBSCRIPT", "kill children up to there", empty = true},
        {"--before SUBSCRIPT", "kill children that come before", empty = true},
        {"--prefix TEXT", "kill children whose subscript is a string that begins so", empty = true},
        command.DB,
    },
    about = [[
All of them or none. What is not there is not an error. With --from, --to, --before or --prefix the nodes
themselves stay, and those of their children go that are in the range, with all below them. Numbers come
before strings, and none of them is in the range of a prefix. A bound of '' is the empty subscript, which
comes first; the prefix '' is that of all other strings.]],
    examples = {{"caret kill '^oaks(1)'"}, {"caret kill --value '^oaks'"}, {"caret kill --before 100 '^log'"},
        {"caret kill --prefix user: '^session'"}},
    run = run,
}
