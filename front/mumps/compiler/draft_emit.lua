-- draft_emit.lua - where a text may stay bytes in a buffer: values/draft.lua.
--
-- SET of a local without subscripts takes what joins, fills and cuts as a draft, and what looks at a text
-- takes drafts, so that neither makes a string.  Everything else gets strings, by expr.value.

local expr = require "mumps.compiler.expr_emit"
local mode = require "mumps.values.mode"
local format, concat = string.format, table.concat
local value, number, more, is_plain = expr.value, expr.number, expr.more, expr.is_plain

local M = {}

local MOST = 20    -- operands of a chain that become one draft
local DEEPEST = 4  -- of what is evaluated beside a draft

-- Does evaluating it neither call anything, nor make a text?  It may read locals.
local function is_quiet(node, depth)
    local op = node and node[1]
    if not op or op == "const" then
        return true
    elseif depth > DEEPEST then
        return false
    elseif op == "bin" then
        return node[2] ~= "_" and is_quiet(node[3], depth + 1) and is_quiet(node[4], depth + 1)
    elseif op == "un" then
        return is_quiet(node[3], depth + 1)
    end
    return is_plain(node)
end

local function all_quiet(nodes, from, to)
    for i = from, to or #nodes do
        if not is_quiet(nodes[i], 1) then
            return false
        end
    end
    return true
end

-- A local as it is, string or draft.
local function view(k, node)
    local slot = k:slot(node[2])
    return "(" .. slot .. ".c.v or " .. k:h("view") .. "(" .. slot .. "))"
end

-- Operands that nothing evaluated after them changes: drafts of locals are taken as they are.
local function operands(k, nodes)
    local quiet = all_quiet(nodes, 1)
    local out = {}
    for i, node in ipairs(nodes) do
        out[i] = quiet and is_plain(node) and view(k, node) or value(k, node)
    end
    return concat(out, ",")
end

local makers = {} -- functions that give a draft

function makers.JUSTIFY(k, args)
    if #args == 3 and args[1] and args[2] and args[3] then
        return format("%s(%s%s)", k:h("d_justify"), number(k, args[1]), more(k, args, 2))
    elseif #args == 2 and args[1] and args[2] and not mode.utf8 then
        return format("%s(%s)", k:h("d_justify"), operands(k, args))
    end
end

function makers.FNUMBER(k, args)
    return format("%s(%s)", k:h("d_fnumber"), string.sub(more(k, args), 2))
end

-- The code of a draft, or of a string; nil: the node is none of those that give one.
function M.made(k, node)
    local op = node[1]
    if op == "bin" and node[2] == "_" then
        local parts = expr.chain(node, {})
        return #parts <= MOST and format("%s(%s)", k:h("d_join" .. #parts), operands(k, parts)) or nil
    end
    local make = op == "fn" and makers[node[2]]
    return make and make(k, node[3])
end

-- The code of the first argument of a function that takes a string or a draft; nil: it can't be a draft.
local function subject(k, args)
    local node = args[1]
    if mode.utf8 or not node or not all_quiet(args, 2) then
        return nil
    end
    return is_plain(node) and view(k, node) or M.made(k, node)
end

-- f(subject, the other arguments), or nil.
function M.apply(k, f, args)
    local s = subject(k, args)
    return s and format("%s(%s%s)", k:h("d_" .. f), s, more(k, args, 2))
end

-- $PIECE by one character; f: "piece1", or "npiece1" where a number is wanted.
function M.piece1(k, f, s, code, n)
    local text = subject(k, {s, n or nil})
    return text and format("%s(%s,%d,%s)", k:h("d_" .. f), text, code, n and value(k, n) or "1")
end

-- SET X=e.
function M.set(k, target, e)
    local made = M.made(k, e)
    return made and k:h("set_text") .. "(" .. k:slot(target[2]) .. "," .. made .. ")"
end

-- Do these pieces or characters have one that is set, whatever the text is?
function M.always_sets(first, last)
    return not last and (not first or first[1] == "const" and (tonumber(first[2]) or 0) >= 1)
end

-- A local on the right of SET $PIECE: it is not looked at where nothing is set, and may be undefined then.
local function assigned(k, e, first, last)
    local text = view(k, e)
    if M.always_sets(first, last) then
        return text
    end
    local pieces = string.sub(more(k, {first or false, last or false}), 2)
    return format("(%s(%s) and %s or \"\")", k:h("sets_any"), pieces, text)
end

-- SET $PIECE(X,..)=e; nil: that is none.
function M.set_piece(k, node, e)
    local args = node[3]
    local x = args[1]
    if node[2] ~= "PIECE" and node[2] ~= "ZPIECE" or mode.utf8 or not is_plain(x) or not all_quiet(args, 2)
        or not is_quiet(e, 1) then
        return nil
    end
    local slot = k:slot(x[2])
    local list = more(k, {args[2], args[3] or false, args[4] or false})
    local new = is_plain(e) and assigned(k, e, args[3], args[4]) or value(k, e)
    return format("do local d=%s(%s.c.v or %s(%s)%s,%s) if d then %s(%s,d) end end", k:h("d_set_piece"), slot,
        k:h("view_or_empty"), slot, list, new, k:h("set_text"), slot)
end

return M
