-- Expressions: text -> nodes.  The nodes are told in compiler/parse.lua.
--
-- M has no precedence: operators apply from left to right.  Parentheses leave no node.

local fold = require "mumps.compiler.fold"
local lex = require "mumps.compiler.lex"
local words = require "mumps.compiler.words"

local expr = {}

local byte, sub, find, gmatch, upper = string.byte, string.sub, string.find, string.gmatch, string.upper
local fail, soft, enter, leave, name = lex.fail, lex.soft, lex.enter, lex.leave, lex.name
local lex_text, lex_number, mark = lex.text, lex.number, lex.mark
local fold_binary, fold_match = fold.binary, fold.match
local MOST_SUBSCRIPTS, MOST_ACTUALS = 31, 32

local parse, chain, atom

-- What is wrong with constants of the expression that ends before p.
local function check(s, node, p)
    if node.wrong then fail(node.wrong, fold.column(node.wrong, s, p)) end
    return node, p
end

-- After `(`: the values up to `)`, and the byte after it.
local function subscripts(s, p)
    local list, n = {}, 0
    enter(p)
    repeat
        local value
        value, p = parse(s, p)
        n = n + 1
        list[n] = value
        local b = byte(s, p)
        p = p + 1
        if b ~= 44 and b ~= 41 then fail("RPARENMISSING", p - 1) end
        if n > MOST_SUBSCRIPTS then fail("MAXNRSUBSCRIPTS", p - 1) end
    until b == 41
    leave()
    return list, p
end

expr.subscripts = subscripts

local function local_name(s, p)
    local id
    id, p = name(s, p)
    if byte(s, p) ~= 40 then return { "local", id }, p end
    local list
    list, p = subscripts(s, p + 1)
    return { "local", id, list }, p
end

-- The environment of ^|e|A and ^[e,e]A, from its bracket on.
local function environment(s, p)
    local first, second
    local bar = byte(s, p) == 124
    first, p = (bar and parse or atom)(s, p + 1)
    if bar then
        if byte(s, p) ~= 124 then fail("EXTGBLDEL", p) end
        return { "bar", first }, p + 1
    end
    if byte(s, p) == 44 then second, p = atom(s, p + 1) end
    if byte(s, p) ~= 93 then fail("EXTGBLDEL", p) end
    return { "bracket", first, second }, p + 1
end

expr.environment = environment

-- A global from the byte after ^ on.
local function global_name(s, p)
    local env, id, list
    local b = byte(s, p)
    if b == 40 then
        list, p = subscripts(s, p + 1)
        return { "naked", list }, p
    end
    if b == 124 or b == 91 then env, p = environment(s, p) end
    id, p = name(s, p)
    if not id then fail(env and "GVNAKEDEXTNM" or "GBLNAME", p) end
    if byte(s, p) == 40 then list, p = subscripts(s, p + 1) end
    return { "global", id, list, env }, p
end

-- After @name@: a list begins at p, and the text goes on after its parenthesis.
local function opened(s, p)
    if byte(s, p) ~= 40 then fail("LPARENMISSING", p) end
    if p == #s then fail("RPARENMISSING", p + 1) end
end

-- @x and @x@(...), from @ on.  lists: what reads subscripts from their parenthesis on, if not the usual one.
local function indirection(s, p, lists)
    local node, list
    enter(p)
    node, p = check(s, atom(s, p + 1))
    leave()
    if byte(s, p) == 64 then
        opened(s, p + 1)
        if type(lists) == "function" then list, p = lists(s, p + 1) else list, p = subscripts(s, p + 2) end
    end
    return { "ind", node, list }, p
end

expr.indirection = indirection

-- A name of a node: local, global, naked or indirect; nil if there is none.
local function place(s, p)
    local b = byte(s, p)
    if b == 94 then return global_name(s, p + 1) end
    if b == 64 then return indirection(s, p) end
    if find(s, "^[%a%%]", p) then return local_name(s, p) end
    return nil, p
end

function expr.place(s, p)
    local node
    node, p = place(s, p)
    if not node then fail("VAREXPECTED", p) end
    return node, p
end

-- .a and .@a, from the dot on.
local function reference(s, p)
    if byte(s, p + 1) == 64 then
        local value
        value, p = atom(s, p + 2)
        return { "refind", value }, p
    end
    local id
    id, p = name(s, p + 1)
    if not id then fail("NAMEEXPECTED", p) end
    return { "ref", id }, p
end

local function is_reference(s, p)
    return byte(s, p) == 46 and not find(s, "^%d", p + 1)
end

-- After `(`: what a routine is called with, and the byte after `)`.
local function actuals(s, p, unclosed)
    local list, n = {}, 0
    if byte(s, p) == 41 then return list, p + 1 end
    enter(p)
    repeat
        local value = false
        local b = byte(s, p)
        if is_reference(s, p) then
            value, p = reference(s, p)
        elseif b ~= 44 and b ~= 41 then
            value, p = parse(s, p)
        end
        n = n + 1
        list[n] = value
        b = byte(s, p)
        p = p + 1
        if b ~= 44 and b ~= 41 then fail(unclosed or "COMMAORRPAREXP", p - 1) end
        if n > MOST_ACTUALS then fail("MAXACTARG", p - 1) end
    until b == 41
    leave()
    return list, p
end

-- What a routine is called with, if there are parentheses at p; unclosed: the error if they do not end.
function expr.actuals(s, p, unclosed)
    if byte(s, p) ~= 40 then return nil, p end
    return actuals(s, p + 1, unclosed)
end

-- The byte after the parenthesis that closes the one at p, or after the text.
local function closing(s, p)
    local depth, quoted = 0, false
    for at in gmatch(sub(s, p), '()["()]') do
        local b = byte(s, p + at - 1)
        if b == 34 then
            quoted = not quoted
        elseif not quoted then
            depth = depth + (b == 40 and 1 or -1)
            if depth == 0 then return p + at end
        end
    end
    return #s + 1
end

-- Are the parentheses at p those of a call, and not subscripts before an offset or a routine?
local function is_call(s, p)
    local b = byte(s, closing(s, p))
    return b ~= 43 and b ~= 94
end

-- A label or routine, by name or by @; nil if there is none. @x@(subscripts) is a name with these, and so
-- none of a label; `called`: what follows may not be the name's.
local function part(s, p, rule, called)
    if byte(s, p) ~= 64 then return rule(s, p) end
    local value, list
    value, p = atom(s, p + 1)
    if byte(s, p) ~= 64 then return { "ind", value }, p end
    opened(s, p + 1)
    if called and is_call(s, p + 1) then return { "ind", value }, p end
    list, p = subscripts(s, p + 2)
    return { "ind", { "subscripted", value, list } }, p
end

-- LABEL+OFFSET^ROUTINE; `whole` takes the offset, too; `called`: what it is called with may follow.
function expr.entry(s, p, whole, called)
    local label, offset, routine
    local from = p
    label, p = part(s, p, lex.label, called)
    if type(label) == "string" and find(s, "^%d+[.E]", from) then fail("LABELEXPECTED", from) end
    if whole and byte(s, p) == 43 then offset, p = parse(s, p + 1) end
    if byte(s, p) == 94 then
        routine, p = part(s, p + 1, name)
        if not routine then fail("RTNNAME", p) end
    end
    if p == from then fail("LABELEXPECTED", p) end
    return { "entry", label, offset, routine }, p
end

-- $$LABEL^ROUTINE(...), from the byte after $$ on.
local function extrinsic(s, p)
    local entry, args
    entry, p = expr.entry(s, p, false)
    args, p = expr.actuals(s, p)
    if not entry[4] and type(entry[2]) == "string" then lex.calls(entry[2], #(args or {})) end
    return { "extrinsic", entry[2], entry[4], args }, p
end

-- What follows the dot: NAME, or NAME^NAME.
local function external_name(s, p)
    local first, second
    first, p = name(s, p)
    if not first then fail("RTNNAME", p) end
    if byte(s, p) ~= 94 then return first, p end
    second, p = name(s, p + 1)
    if not second then fail("RTNNAME", p) end
    return first .. "^" .. second, p
end

-- &PACKAGE.NAME(...), from the byte after & on.
function expr.external(s, p)
    local first, second, args
    first, p = name(s, p)
    if not first then fail("RTNNAME", p) end
    if byte(s, p) == 46 then
        second, p = external_name(s, p + 1)
    end
    args, p = expr.actuals(s, p)
    if second then return { "external", first, second, args }, p end
    return { "external", nil, first, args }, p
end

-- After $: a function, a special variable, a call.
local function dollar(s, p)
    local b = byte(s, p)
    if b == 36 then return extrinsic(s, p + 1) end
    if b == 38 then return expr.external(s, p + 1) end
    local last = lex.last_of(s, p)
    if not last then fail("FCNSVNEXPECTED", p) end
    local word = upper(sub(s, p, last))
    if byte(s, last + 1) == 40 then
        local full = words.functions[word]
        if full then mark("functions", p, last, full) end
        enter(p)
        local node, to = expr.call(full, s, last + 2, p)
        leave()
        return node, to
    end
    local full = words.variables[word]
    if not full then return soft("INVSVN", p), last + 1 end
    mark("variables", p, last, full)
    return { "svn", full }, last + 1
end

local function literal(s, p)
    local value, to = lex_text(s, p)
    if not value then fail("EXPR", #s + 1) end
    local odd = find(value, "[%z\1-\31\127]")
    if odd then lex.warn("LITNONGRAPH", p + odd, byte(value, odd)) end
    return { "const", value }, to
end

local function number(s, p)
    local value, to = lex_number(s, p)
    return { "const", value, true }, to
end

local function group(s, p)
    local node
    enter(p)
    node, p = chain(s, p + 1)
    leave()
    if byte(s, p) ~= 41 then fail("RPARENMISSING", p) end
    return node, p + 1
end

local function unary(s, p)
    local node
    local op = sub(s, p, p)
    if op == "'" and find(s, "^[&!<>=%[%]?]", p + 1) then fail("EXPR", p) end
    enter(p)
    node, p = atom(s, p + 1)
    leave()
    return fold.unary { "un", op, node }, p
end

-- What begins with which byte.
local begins = {
    [34] = literal,
    [36] = function(s, p) return dollar(s, p + 1) end,
    [39] = unary,
    [40] = group,
    [43] = unary,
    [45] = unary,
    [46] = function(s, p)
        if not find(s, "^%d", p + 1) then fail("EXPR", p) end
        return number(s, p)
    end,
    [64] = indirection,
    [94] = function(s, p) return global_name(s, p + 1) end,
}
for b = 48, 57 do begins[b] = number end
for b = 65, 90 do begins[b], begins[b + 32] = local_name, local_name end
begins[37] = local_name

-- An operand.
function atom(s, p)
    local rule = begins[byte(s, p)]
    if not rule then fail("EXPR", p) end
    return rule(s, p)
end

expr.atom = atom

-- What is missing after a binary operator and signs at p is that operator's.
local function after_signs(s, p)
    local _, last = find(s, "^[-+']*", p)
    local b = byte(s, last + 1)
    if not begins[b] or b == 46 and not find(s, "^%d", last + 2) then
        fail(b == 58 and "EXPR" or "RHMISSING", last + 1)
    end
end

local is_sign = { [39] = true, [43] = true, [45] = true, [46] = true } -- ' + - .

-- An operand after an operator.
local function right(s, p)
    local b = byte(s, p)
    if is_sign[b] then after_signs(s, p) end
    local rule = begins[b]
    if not rule then fail(b == 58 and "EXPR" or "RHMISSING", p) end
    return rule(s, p)
end

-- After ?: a pattern, or @.
local function pattern(s, p, left, negated)
    if byte(s, p) == 64 then
        local value
        value, p = atom(s, p + 1)
        if byte(s, p) == 64 then -- the name of a node, not a pattern
            local list
            opened(s, p + 1)
            list, p = subscripts(s, p + 2)
            value = { "subscripted", value, list }
        end
        return fold_match { "match", left, { "ind", value }, negated }, p
    end
    local to, wrong, where = require("mumps.values.pattern").scan(s, p)
    if not to then fail(wrong, where or p) end
    return fold_match { "match", left, { "pat", sub(s, p, to - 1) }, negated }, to
end

local operators = {
    [33] = "!", [35] = "#", [38] = "&", [43] = "+", [45] = "-", [47] = "/", [61] = "=", [91] = "[",
    [92] = "\\", [95] = "_",
}
local negated = { [33] = "'!", [38] = "'&", [60] = "'<", [61] = "'=", [62] = "'>", [91] = "'[" }

-- The operators that have more than one byte: the node of `left` with what follows, and the byte after it.
local function binary(op, s, p, left)
    local value
    value, p = right(s, p)
    return fold_binary { "bin", op, left, value }, p
end

-- < and >; with = after them they are '> and '<.
local function ordered(b, s, p, left)
    local op = b == 60 and "<" or ">"
    if byte(s, p + 1) ~= 61 then return binary(op, s, p + 1, left) end
    return binary(op == "<" and "'>" or "'<", s, p + 2, left)
end

local function longer(b, s, p, left)
    if b == 60 or b == 62 then return ordered(b, s, p, left) end
    if b == 42 then
        if byte(s, p + 1) == 42 then return binary("**", s, p + 2, left) end
        return binary("*", s, p + 1, left)
    elseif b == 93 then
        if byte(s, p + 1) == 93 then return binary("]]", s, p + 2, left) end
        return binary("]", s, p + 1, left)
    elseif b == 63 then
        return pattern(s, p + 1, left)
    elseif b ~= 39 then
        return nil, p
    end
    b = byte(s, p + 1)
    if negated[b] then return binary(negated[b], s, p + 2, left) end
    if b == 63 then return pattern(s, p + 2, left, true) end
    if b ~= 93 then return nil, p end
    if byte(s, p + 2) == 93 then return binary("']]", s, p + 3, left) end
    return binary("']", s, p + 2, left)
end

-- What is within parentheses: operands with operators between them.
function chain(s, p)
    local left, more
    left, p = atom(s, p)
    while true do
        local b = byte(s, p)
        local op = operators[b]
        if op then
            b = byte(s, p + 1)
            local rule = begins[b]
            if not rule then fail(b == 58 and "EXPR" or "RHMISSING", p + 1) end
            if is_sign[b] then after_signs(s, p + 1) end
            more, p = rule(s, p + 1)
            left = fold_binary { "bin", op, left, more }
        else
            more, p = longer(b, s, p, left)
            if not more then return left, p end
            left = more
        end
    end
end

-- A whole expression.
function parse(s, p)
    return check(s, chain(s, p))
end

expr.parse = parse

-- An expression that may be the indirection of a whole argument.
function expr.argument(s, p)
    local at = byte(s, p) == 64
    local node
    node, p = parse(s, p)
    if at and node[1] == "ind" and not node[3] then return { "argind", node[2] }, p end
    return node, p
end

return expr
