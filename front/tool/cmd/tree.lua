-- caret tree: what is below a node.

local command = require "tool.lib.command"
local json = require "tool.lib.json"
local nodes = require "tool.lib.nodes"

local LIMIT = 1000

-- {"node":["^oaks",1,"shadow"],"value":10}
local function json_line(node, value)
    return json.encode(json.object("node", json.node(node), "value", json.value(value)))
end

-- print_node(node, value) is false when it is enough.
local function walk(node, depth, range, print_node)
    for child, value, sub in node:__range(range) do
        local below = depth > 1 and child:__data() >= 10
        if not range.reverse and value and not print_node(child, value) then return false end
        if below and not walk(node(sub), depth - 1, {reverse = range.reverse}, print_node) then
            return false
        end
        if range.reverse and value and not print_node(child, value) then return false end
    end
    return true
end

local function run(o)
    local node = command.node(command.view(o), o[1])
    local shown, limit, line = 0, o.all and math.huge or o.limit, o.json and json_line or nodes.line
    local function print_node(n, value)
        if shown >= limit then
            shown = shown + 1
            return false
        end
        shown = shown + 1
        command.write(line(n, value), "\n")
        return true
    end
    local range = command.range(o)
    local own = not range and node:__get() or nil
    range = range or {}
    range.reverse = o.reverse
    local more = (o.reverse or not own or print_node(node, own))
        and (o.depth == 0 or walk(node, o.depth or math.huge, range, print_node))
        and (not o.reverse or not own or print_node(node, own))
    if not more then
        io.stdout:flush()
        io.stderr:write(("caret tree: stopped at %s; --limit N or --all shows more\n"):format(
            command.counted(limit, "node")))
    end
    return shown == 0 and 1 or 0
end

return {
    summary = "print a node and what is below it",
    operands = {"NODE"},
    options = {
        {"-d, --depth N", "so many levels below NODE; 0: itself alone"},
        {"--from SUBSCRIPT", "begin at this child of NODE", empty = true},
        {"--to SUBSCRIPT", "end with this one", empty = true},
        {"--before SUBSCRIPT", "end before this one", empty = true},
        {"--prefix TEXT", "children whose subscript is a string that begins so", empty = true},
        {"-r, --reverse", "last first"},
        {"-n, --limit N", "so many nodes at most", default = LIMIT},
        {"-a, --all", "however many there are"},
        {"--json", "print JSON lines"},
        command.DB,
    },
    about = [[
Every node that has a value is a line NODE=VALUE in ZWR text, which `caret load` reads. Exit status 1:
there is none.]],
    examples = {{"caret tree '^oaks'"}, {"caret tree '^log' --reverse --limit 10", "the newest entries"}},
    run = run,
}
