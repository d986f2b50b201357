-- What the commands about nodes have in common.

local core = require "caret.core"

local nodes = {}

nodes.zwr = core.zwr -- bytes as a ZWR literal

--- A subscript as ZWR text: numbers bare.
function nodes.subscript(node, sub)
    if type(sub) == "number" then return ("%d"):format(sub) end
    return tostring(node):match("^.*[(,](%-?%d*%.?%d+)%)$") == sub and sub or core.zwr(sub)
end

--- A ZWR line.
function nodes.line(node, value)
    return tostring(node) .. "=" .. core.zwr(value)
end

return nodes
