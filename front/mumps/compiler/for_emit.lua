--- The specifications of FOR, a:b:c: for the loop itself (flow.lua) and for what goes on after a TSTART in it
--- (tstart_emit.lua).
local expr = require "mumps.compiler.expr_emit"
local sets = require "mumps.compiler.set_emit"
local format = string.format
local value = expr.value

local M = {}

function M.number_of(k, node)
    local text, n = value(k, node), node[1] == "const" and node[2]
    if type(n) == "number" and n % 1 == 0 then return text end
    return format("%s(%s)", k:h("plus"), text)
end

-- The j-th of a list: start, step and limit.
function M.spec_of(k, j, spec)
    if #spec == 1 then
        return format("if i==%d then s,t,l=%s,nil,nil ", j, value(k, spec[1]))
    end
    return format("if i==%d then s,t,l=%s,%s,%s ", j, M.number_of(k, spec[1]), M.number_of(k, spec[2]),
        spec[3] and M.number_of(k, spec[3]) or "nil")
end

-- n, the next value; if past, a condition, is true the loop is left.  The last turn's value stays as a
-- number, whatever text it had.
function M.next_value(k, var, past, leave)
    local text = format("local v=%s local n=%s(v,t) ", sets.get(k, var), k:h("add"))
    if not past then
        return text
    end
    local number = format("%s(v)", k:h("plus"))
    return format("%sif %s then %s%s end ", text, past, sets.put(k, var, number), leave)
end

return M
