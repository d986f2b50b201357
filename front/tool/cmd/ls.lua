-- caret ls: the children of a node, or the globals.

local command = require "tool.lib.command"
local json = require "tool.lib.json"
local nodes = require "tool.lib.nodes"

local function in_range(o, name)
    return (not o.from or name >= o.from) and (not o.to or name <= o.to) and
        (not o.before or name < o.before) and (not o.prefix or name:sub(1, #o.prefix) == o.prefix)
end

-- Nodes of all globals, as range() gives children: node, value, name.
local function globals(db, o)
    local names = {}
    for name in db:variables() do
        if in_range(o, name) then names[#names + 1] = name end
    end
    local i = 0
    return function()
        i = i + 1
        local name = names[o.reverse and #names + 1 - i or i]
        if not name or i > (o.limit or math.huge) then return nil end
        local node = db.node(name)
        return node, node:__get(), name
    end
end

local function show(o, node, value, sub)
    local text = o[1] and not o.raw and nodes.subscript(node, sub) or tostring(sub)
    if not o.long then return text end
    return ("%2d  %s%s"):format(node:__data(), text, value and "=" .. nodes.zwr(value) or "")
end

local function run(o)
    local db = command.view(o)
    local options = command.range(o) or {}
    options.reverse, options.limit = o.reverse, o.limit
    local each = o[1] and command.node(db, o[1]):__range(options) or globals(db, o)
    local n = 0
    for node, value, sub in each do
        n = n + 1
        if o.json then
            local kind = o[1] and "subscript" or "name"
            command.write(n == 1 and "[" or ",\n",
                json.encode(json.object(kind, sub, "data", node:__data(), "value", json.value(value))))
        else
            command.write(show(o, node, value, sub), "\n")
        end
    end
    if o.json then command.write(n == 0 and "[" or "", "]\n") end
    return n == 0 and 1 or 0
end

return {
    summary = "list the children of a node; without one, the globals",
    operands = {"[NODE]"},
    options = {
        {"-l, --long", "with what is there, as `caret data` tells it, and the value"},
        {"--raw", "subscripts as they are, without quotes"},
        {"--from SUBSCRIPT", "begin there", empty = true},
        {"--to SUBSCRIPT", "end there", empty = true},
        {"--before SUBSCRIPT", "end before that one", empty = true},
        {"--prefix TEXT", "only strings that begin so; globals: names with their ^", empty = true},
        {"-r, --reverse", "last first"},
        {"-n, --limit N", "so many at most"},
        command.JSON, command.DB,
    },
    about = "Exit status 1: there are none.",
    examples = {{"caret ls"}, {"caret ls -l '^oaks' --from 100 --limit 10"},
        {"caret ls '^session' --prefix user:"}},
    run = run,
}
