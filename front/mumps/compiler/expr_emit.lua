-- expr_emit.lua - expressions: AST -> the text of a Lua expression.
--
-- Lua evaluates the arguments of a call from left to right, and each operator is a call, so the order is M's.
-- value(k, node) gives a value of M, cond(k, node) a Lua boolean; k is the chunk (names.lua) being written.

local fold = require "mumps.compiler.fold"
local names = require "mumps.compiler.names"
local format, concat, byte = string.format, table.concat, string.byte
local quote = names.quote

local M = {}
local value, cond, number
local emit = {}     -- node[1] -> function(k, node): a value
local booleans = {} -- the same: a Lua boolean

-- ---- constants and lists

local function constant(v)
    if type(v) ~= "number" then
        return quote(v)
    elseif v >= 0 and v < 1e9 then
        return "" .. v
    end
    return v < 0 and format("(%.0f)", v) or format("%.0f", v)
end

M.constant = constant

-- Values of nodes from i on, each with a comma before it; an omitted one is nil.
local function more(k, nodes, from)
    from = from or 1
    local n = #nodes
    if n < from then
        return ""
    elseif n == from then
        return "," .. (nodes[n] and value(k, nodes[n]) or "nil")
    end
    local out = {}
    for i = from, n do
        out[i - from + 1] = nodes[i] and value(k, nodes[i]) or "nil"
    end
    return "," .. concat(out, ",")
end

M.more = more

local calls = {extrinsic = true, external = true, ind = true}
local globals = {global = true, naked = true}

-- What a node consists of. $NAME of a global makes no reference to it: only what is within that counts.
local function parts_of(node)
    if not (node[1] == "fn" and node[2] == "NAME" and globals[node[3][1][1]]) then
        return node
    end
    local parts = {unpack(node[3], 2)}
    for i = 2, #node[3][1] do
        table.insert(parts, i - 1, node[3][1][i])
    end
    return parts
end

local function any(node, kinds)
    local op = node[1]
    if kinds[op] or op == "fn" and (node[2] == "INCREMENT" or node[2] == "ZINCR") then
        return true
    end
    local parts = parts_of(node)
    for i = 1, #parts do
        local part = parts[i]
        if type(part) == "table" and any(part, kinds) then
            return true
        end
    end
    return false
end

-- Does evaluating it call or change something?  Then & and ! evaluate it always.
local function has_calls(node)
    return any(node, calls)
end

local more_than_locals = {extrinsic = true, external = true, ind = true, global = true, naked = true}

-- Does evaluating it do more than to read local variables?
local function has_effects(node)
    return any(node, more_than_locals)
end

-- The references to globals of an expression, those of their subscripts and of what $SELECT may choose not.
local function globals_of(node, list)
    if type(node) ~= "table" or node[1] == "select" then
        return list
    elseif globals[node[1]] then
        list[#list + 1] = node
        return list
    end
    local parts = parts_of(node)
    for i = 1, #parts do
        globals_of(parts[i], list)
    end
    return list
end

M.has_effects = has_effects

-- ---- references to variables

local function list_of(nodes, last)
    local out = {}
    for i = 1, last do
        out[i] = nodes[i][2]
    end
    return out
end

-- How many subscripts are constant at the beginning.  An empty one counts if it is the last: a place may end
-- with it, but not lead on.
local function constant_subs(subs, most)
    local n = 0
    while n < most and subs[n + 1][1] == "const" and (subs[n + 1][2] ~= "" or n + 1 == #subs) do
        n = n + 1
    end
    return n
end

-- The place of a global reference: subscripts that are constant at its beginning belong to it.  `keep`: the
-- last subscript stays variable.  Code of the place, and the index of the first variable subscript.
local function global_place(k, node, keep)
    local subs = node[3] or {}
    local n = constant_subs(subs, #subs - (keep and 1 or 0))
    local env = node[4]
    local spec = {env and "extended" or "place", "^" .. node[2], list_of(subs, n)}
    local p = k:p(k:const(spec))
    if not env then
        return p, n
    end
    local e = env[1] == "bracket" and env[2] or env[2]
    return format("%s(%s,%s)", k:h("g_at"), p, value(k, e)), n
end

-- What a family of functions (get, set, next..) needs for a reference: the suffix of its name, and its
-- arguments as text. Families of locals are a<op><n>, of globals g<op><n>.
local function reference(k, node, keep)
    local op = node[1]
    if op == "local" then
        local subs = node[3] or {}
        return "a", #subs, k:slot(node[2]) .. more(k, subs)
    elseif op == "global" then
        local place, fixed = global_place(k, node, keep)
        local subs = node[3] or {}
        return "g", #subs - fixed, place .. more(k, subs, fixed + 1)
    end
    return "g", #node[2], k:p(k:const{"naked"}) .. more(k, node[2])
end

M.reference = reference

-- A reference as a table (of the data part); `how` is the function for one whose name is a text.
local function ref_of(k, node, how)
    local op = node[1]
    if op == "local" then
        local subs = node[3] or {}
        return format("%s(%s,%d%s)", k:h("r_local"), k:slot(node[2]), #subs, more(k, subs))
    elseif op == "global" then
        local subs, env = node[3] or {}, node[4]
        local e = env and value(k, env[2]) or "nil"
        local ref = format("%s(%s,%s,%d%s)", k:h("r_global"), quote("^" .. node[2]), e, #subs, more(k, subs))
        if not env or env[1] ~= "bracket" then
            return ref
        end
        return format("%s(%s,%s)", k:h("r_bracket"), ref, env[3] and value(k, env[3]) or "false")
    elseif op == "naked" then
        return format("%s(%d%s)", k:h("r_naked"), #node[2], more(k, node[2]))
    end
    local subs = node[3] or {}
    return format("%s(C,%s,%d%s)", k:h(how or "ind_ref"), value(k, node[2]), #subs, more(k, subs))
end

M.ref_of, M.whole_ref = ref_of, ref_of

-- The same for a target whose value is computed before it is referred to: r_now() makes a naked one then.
function M.late_ref(k, node)
    if node[1] == "naked" then
        return format("%s(%d%s)", k:h("r_late"), #node[2], more(k, node[2]))
    elseif node[1] == "ind" then
        return ref_of(k, node, "ind_late")
    end
    return ref_of(k, node)
end

-- op of @v@(s), with one subscript: a function of its own; nil for other nodes.
function M.below(k, op, node, tail)
    local subs = node[1] == "ind" and node[3]
    if subs and #subs == 1 then
        return format("%s(C,%s%s%s)", k:h("below_" .. op), value(k, node[2]), more(k, subs), tail or "")
    end
end

-- What there is of these, and the argument after the subscript, which must not need to be computed.
local short = {get = "", peek = "", data = "", kill = "", incr = ",1"}

-- op ("get", "data"..) of a variable, with more arguments after it.
local function apply(k, op, node, tail, keep)
    local text = short[op] == (tail or "") and M.below(k, op, node, tail)
    if text then
        return text
    elseif node[1] == "ind" then
        return format("%s(%s%s)", k:h("r_" .. op), ref_of(k, node), tail or "")
    end
    local which, n, args = reference(k, node, keep)
    return k:h(which .. op .. n) .. "(" .. args .. (tail or "") .. ")"
end

M.apply = apply

emit["const"] = function(_, node)
    return constant(node[2])
end

-- A local without subscripts; `otherwise` is called if no text stands in it.
local function plain_local(k, node, otherwise)
    if not node[3] or #node[3] == 0 then
        local slot = k:slot(node[2])
        return "(" .. slot .. ".c.v or " .. k:h(otherwise) .. "(" .. slot .. "))"
    end
end

M.plain_local = plain_local

emit["local"] = function(k, node)
    return plain_local(k, node, "undefined") or apply(k, "get", node)
end

emit["global"] = function(k, node)
    return apply(k, "get", node)
end

emit["naked"] = emit["global"]

emit["ERROR"] = function(k, node)
    return format("%s(%s)", k:h("compile_error"), k:p(k:const{"error", node[2]}))
end

emit["ind"] = function(k, node)
    local subs = node[3]
    if not subs then
        return format("%s(C,%s)", k:h("ind_get"), value(k, node[2]))
    end
    return apply(k, "get", node)
end

-- ---- operators

local arithmetic = {
    ["+"] = "nadd", ["-"] = "nsub", ["*"] = "nmul", ["/"] = "ndiv", ["\\"] = "nidiv", ["#"] = "nmod",
}
local relations = {
    ["="] = "is_eq", ["<"] = "is_lt", [">"] = "is_gt", ["["] = "is_contains", ["]"] = "is_follows",
    ["]]"] = "is_sortsafter",
}

local function is_constant(node)
    local kind = node[1]
    return kind == "const" or kind == "un" and is_constant(node[3])
        or kind == "bin" and is_constant(node[3]) and is_constant(node[4])
end

local function relation(op, a, b)
    local known = op == "]]" and is_constant(a) and is_constant(b)
    return known and "is_sortsafter_known" or relations[op]
end

-- The operands of a chain a_b_c.
local function chain(node, out)
    if node[1] == "bin" and node[2] == "_" then
        chain(node[3], out)
        out[#out + 1] = node[4]
    else
        out[#out + 1] = node
    end
    return out
end

local function concatenation(k, node)
    local parts = chain(node, {})
    if #parts == 2 then
        return k:h("concat") .. "(" .. value(k, parts[1]) .. "," .. value(k, parts[2]) .. ")"
    elseif #parts <= 100 then
        return format("%s(%d%s)", k:h("concat_list"), #parts, more(k, parts))
    end
    return format("%s(%s,%s)", k:h("concat"), value(k, node[3]), value(k, node[4]))
end

M.chain = chain

-- A local without subscripts.
function M.is_plain(node)
    return node[1] == "local" and (not node[3] or #node[3] == 0)
end

local function as_number(text)
    return "(" .. text .. " and 1 or 0)"
end

-- ---- where a number is wanted: values/decimal.lua

local numbers = {} -- node[1] -> function(k, node): the text, or nil if it is like any other

numbers["bin"] = function(k, node)
    local f = arithmetic[node[2]]
    return f and k:h(f) .. "(" .. number(k, node[3]) .. "," .. number(k, node[4]) .. ")"
end

numbers["un"] = function(k, node)
    local op = node[2]
    return op ~= "'" and k:h(op == "-" and "nneg" or "nplus") .. "(" .. number(k, node[3]) .. ")"
end

-- A fraction of at most 6 places, and not too large: as Lua writes it.
numbers["const"] = function(_, node)
    local v = node[2]
    return type(v) == "string" and string.find(v, "^%-?%d?%d?%d?%d?%d?%d?%d?%d?%.%d%d?%d?%d?%d?%d?$")
        and string.gsub(v, "^(%-?)(.*)$", "(%10%2)")
end

numbers["local"] = function(k, node)
    return plain_local(k, node, "fraction")
end

-- Does arithmetic give it?
function M.is_number(node)
    return node[1] == "bin" and arithmetic[node[2]] ~= nil or node[1] == "un" and node[2] ~= "'"
end

local function canonical(k, node)
    return k:h("canon") .. "(" .. numbers[node[1]](k, node) .. ")"
end

emit["bin"] = function(k, node)
    local op = node[2]
    if arithmetic[op] then
        return canonical(k, node)
    elseif op == "**" then
        return format("%s(%s,%s)", k:h("pow"), value(k, node[3]), value(k, node[4]))
    elseif op == "_" then
        return concatenation(k, node)
    end
    return as_number(cond(k, node))
end

-- x="abc": a text that is not a number can be compared as it is.
local function equal_constant(k, x, c)
    if c[1] == "const" and type(c[2]) == "string" and not string.find(c[2], "^[%-%d.]") then
        return format("(%s==%s)", value(k, x), quote(c[2]))
    end
end

-- Of a right operand that does not decide, references to globals are made, as naked ones refer to them, but
-- not read: they need not be defined.
local function skipped(k, op, refs)
    local out = {}
    for i, node in ipairs(refs) do
        out[i] = apply(k, "peek", node)
    end
    return format("%s(%s)", k:h(op == "&" and "skip_and" or "skip_or"), concat(out, ","))
end

local MOST_WITHIN = 4 -- right operands within each other, as each has the code of its references twice

-- The condition b, and what is evaluated in its place, or nil: nothing.
local function right_operand(k, op, b)
    local within = k.within or 0
    k.within = within + 1
    local y = cond(k, b)
    local refs = within < MOST_WITHIN and globals_of(b, {}) or {}
    local else_ = #refs > 0 and skipped(k, op, refs) or nil
    k.within = within
    return y, else_
end

local function logical(k, op, a, b)
    local x = cond(k, a)
    local y, else_ = right_operand(k, op, b)
    if has_calls(b) or not else_ and has_effects(b) then
        return format("%s(%s,%s)", k:h(op == "&" and "both" or "either"), x, y)
    elseif not else_ then
        return "(" .. x .. (op == "&" and " and " or " or ") .. y .. ")"
    elseif op == "&" then
        return format("((%s and (%s and 1 or 2) or %s)==1)", x, y, else_)
    end
    return format("((%s and %s or (%s and 1 or 2))==1)", x, else_, y)
end

booleans["bin"] = function(k, node)
    local op, a, b = node[2], node[3], node[4]
    local negated = byte(op) == 39
    if negated then
        op = string.sub(op, 2)
    end
    local text
    if op == "&" or op == "!" then
        text = logical(k, op, a, b)
    elseif relations[op] then
        local read = (op == "<" or op == ">") and number or value
        text = op == "=" and equal_constant(k, a, b)
            or k:h(relation(op, a, b)) .. "(" .. read(k, a) .. "," .. read(k, b) .. ")"
    else
        return format("%s(%s)", k:h("truth"), number(k, node))
    end
    return negated and "(not " .. text .. ")" or text
end

booleans["match"] = function(k, node)
    local p = node[3]
    local object = p[1] == "pat" and k:p(k:const{"pattern", p[2]})
        or format("%s(C,%s)", k:h "ind_pattern", value(k, p[2]))
    local text = format("%s(%s,%s)", k:h("is_match"), value(k, node[2]), object)
    return node[4] and "(not " .. text .. ")" or text
end

emit["match"] = function(k, node)
    return as_number(cond(k, node))
end

emit["un"] = function(k, node)
    local op = node[2]
    if op == "'" then
        return format("(%s and 0 or 1)", cond(k, node[3]))
    end
    return canonical(k, node)
end

booleans["un"] = function(k, node)
    if node[2] == "'" then
        return "(not " .. cond(k, node[3]) .. ")"
    end
    return format("%s(%s)", k:h("truth"), number(k, node))
end

-- ---- special variables, functions

emit["svn"] = function(k, node)
    if node[2] == "TEST" then
        return "T.t"
    end
    return k:h("sv_" .. node[2]) .. "()"
end

-- A condition, which decides of a command or a choice: a constant alone need not be a number.
function M.cond(k, node)
    return fold.is_true(node) and "true" or cond(k, node)
end

emit["select"] = function(k, node)
    local out = {}
    for _, pair in ipairs(node[2]) do
        if pair[1][1] == "const" and pair[1][2] == 1 then
            out[#out + 1] = value(k, pair[2])
            return "(" .. concat(out, " or ") .. ")"
        end
        out[#out + 1] = format("%s and %s", M.cond(k, pair[1]), value(k, pair[2]))
    end
    return format("(%s or %s())", concat(out, " or "), k:h("select_false"))
end

-- What @ of a lock's name has.
emit["lock_name"] = function(k, node)
    return format("%s(%s)", k:h("ind_lock"), value(k, node[2]))
end

-- @x@(subscripts) where a label is wanted: the name of the node, as text.
emit["subscripted"] = function(k, node)
    return format("%s(%s%s)", k:h("subscripted"), value(k, node[2]), more(k, node[3]))
end

-- Arguments that name an entry point: label, offset, routine as text.
function M.entry(k, e)
    local function name(x)
        if type(x) == "string" then
            return quote(x)
        end
        return x and value(k, x[2]) or "nil"
    end
    return format("%s,%s,%s", name(e[2]), e[3] and value(k, e[3]) or "nil", name(e[4]))
end

emit["text"] = function(k, node)
    local e = node[2]
    if e[1] == "argind" then
        return format("%s(C,%s)", k:h("ind_text"), value(k, e[2]))
    end
    return format("%s(C,%s)", k:h("text"), M.entry(k, e))
end

-- ---- extrinsics

-- Actuals: how many, and their text with a comma before each.
function M.actuals(k, list)
    if not list then
        return -1, ""
    end
    local out = {}
    for i, a in ipairs(list) do
        local text = "nil"
        if a and a[1] == "ref" then
            text = k:slot(a[2])
        elseif a and a[1] == "held" then
            text = a[2]
        elseif a and a[1] == "refind" then
            text = format("%s(C,%s,true)", k:h("ind_slot"), value(k, a[2]))
        elseif a then
            text = value(k, a)
        end
        out[i] = "," .. text
    end
    return #list, concat(out)
end

-- Is an actual more than a variable or a constant?
local function is_computed(a)
    return a and a[1] ~= "ref" and a[1] ~= "const" and not M.is_plain(a)
end

local function any_computed(list)
    for _, a in ipairs(list or {}) do
        if is_computed(a) then
            return true
        end
    end
    return false
end

-- The actuals of a DO that has a condition: what is computed is so before that, also when it is false. It is
-- put into locals of Lua: their statement, and the list that stands for them.
function M.held_actuals(k, list)
    local to, values, held = {}, {}, {}
    for i, a in ipairs(list) do
        held[i] = a
        if is_computed(a) then
            local _, text = M.actuals(k, {a})
            to[#to + 1], values[#values + 1] = "held" .. i, text:sub(2)
            held[i] = {"held", "held" .. i}
        end
    end
    if not to[1] then
        return "", list
    end
    return format("local %s=%s ", concat(to, ","), concat(values, ",")), held
end

-- A call of an entry point: kind 1 is DO, 2 is $$.
function M.invoke(k, kind, label, routine, list)
    local n, args = M.actuals(k, list)
    if type(label or "") == "string" and type(routine or "") == "string" then
        if not routine then
            return k.local_call(k, kind, label, n, args)
        end
        local enter, code = "enter", format("R[%s]", quote(routine))
        if any_computed(list) then -- before the routine is looked for
            enter, code = "enter_routine", "R," .. quote(routine)
        end
        return format("%s(%s,%s,%d,%d%s)", k:h(enter), code, quote(label or ""), kind, n, args)
    end
    local entry = M.entry(k, {"entry", label, nil, routine})
    return format("%s(C,%s,%d,%d%s)", k:h("enter_at"), entry, kind, n, args)
end

emit["extrinsic"] = function(k, node)
    return M.invoke(k, 2, node[2], node[3], node[4] or {})
end

emit["external"] = function(k, node)
    local n, args = M.actuals(k, node[4])
    return format("%s(%s,%s,2,%d%s)", k:h("external"), quote(node[2] or ""), quote(node[3]), n, args)
end

-- ---- the two doors

-- Lua takes some 200 levels of an expression: what is deeper is a function of its own.
local DEEPEST = 50

local function hoisted(k, node, write)
    local nest, name = k.nest, k:rest_name()
    k.nest = 0
    k:begin(name)
    k:line(k.now, "return " .. write(k, node))
    k:finish()
    k.nest = nest
    return name .. "()"
end

local function plain_cond(k, node)
    local f = booleans[node[1]]
    if f then
        return f(k, node)
    elseif node[1] == "const" and type(node[2]) == "number" then
        return node[2] ~= 0 and "true" or "false"
    end
    return k:h("truth") .. "(" .. value(k, node) .. ")"
end

local function plain_value(k, node)
    return emit[node[1]](k, node)
end

-- What has nothing within it is not counted.
local function leaf_or(otherwise)
    return function(k, node)
        if node[1] == "const" then
            return constant(node[2])
        end
        return otherwise(k, node)
    end
end

local function plain_number(k, node)
    local f = numbers[node[1]]
    return f and f(k, node) or emit[node[1]](k, node)
end

local function counted(write)
    return function(k, node)
        k.nest = k.nest + 1
        local text
        if k.nest > DEEPEST and node[1] ~= "const" and node[1] ~= "lua" then
            text = hoisted(k, node, write)
        else
            text = write(k, node)
        end
        k.nest = k.nest - 1
        return text
    end
end

value, cond, number = leaf_or(counted(plain_value)), counted(plain_cond), counted(plain_number)

M.value, M.number, M.emit, M.numbers = value, number, emit, numbers
M.quote = quote

-- text, which is done if the condition of the command holds.
function M.when(k, cmd, text)
    local outer = k.literal
    k.literal = outer or cmd.literal
    text = format("if %s then %s end ", M.cond(k, cmd.pc), text)
    k.literal = outer
    return text
end

return M
