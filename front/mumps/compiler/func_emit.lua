-- func_emit.lua - intrinsic functions that are not just a call of the function of that name: those that take
-- the name of a variable, and those with a quicker form.

local expr = require "mumps.compiler.expr_emit"
local draft = require "mumps.compiler.draft_emit"
local mode = require "mumps.values.mode"
local format = string.format
local value, more, apply, quote = expr.value, expr.more, expr.apply, expr.quote
local is_plain = expr.is_plain

local special = {}

local function is_name_only(node)
    return (node[1] == "local" or node[1] == "global") and (not node[3] or #node[3] == 0)
end

function special.GET(k, args)
    local x, default = args[1], args[2]
    local read
    if is_plain(x) then
        local slot = k:slot(x[2])
        read = format("(%s.c.v or %s(%s))", slot, k:h("peek"), slot)
    elseif x[1] == "ind" then
        read = format("%s(C,%s,%d%s)", k:h("ind_peek"), value(k, x[2]), x[3] and #x[3] or 0, more(k, x[3]
            or {}))
    elseif x[1] == "svn" then
        return value(k, x)
    else
        read = apply(k, "peek", x)
    end
    if not default or default[1] == "const" then
        return format("(%s or %s)", read, default and value(k, default) or '""')
    end
    return format("%s(%s,%s)", k:h("default"), read, value(k, default))
end

function special.DATA(k, args)
    return apply(k, "data", args[1])
end

function special.INCREMENT(k, args)
    return apply(k, "incr", args[1], "," .. (args[2] and value(k, args[2]) or "1"))
end

special.ZINCR = special.INCREMENT

-- $ORDER of a name without subscripts: the next variable.
local function next_name(k, x, dir)
    if x[1] == "local" then
        return format("%s(V,%s,%s)", k:h("next_local"), quote(x[2]), dir)
    end
    local env = x[4] and "," .. value(k, x[4][2]) or ""
    return format("%s(%s,%s%s)", k:h("next_global"), quote("^" .. x[2]), dir, env)
end

-- Forwards, backwards, or a direction that is only known at run time.
local function directed(k, args, forth, back)
    local x, dir = args[1], args[2]
    if not dir then
        return x, forth, "1"
    elseif dir[1] == "const" or dir[1] == "un" and dir[3][1] == "const" then
        local d = dir[1] == "const" and tostring(dir[2]) or dir[2] .. tostring(dir[3][2])
        if d == "1" or d == "-1" then
            return x, d == "-1" and back or forth, d == "-1" and "-1" or "1"
        end
    end
    return x, nil, format("%s(%s)", k:h("direction"), value(k, dir))
end

local function step(forth, back)
    return function(k, args)
        local x, op, dir = directed(k, args, forth, back)
        if is_name_only(x) and forth == "next" then
            return next_name(k, x, dir)
        elseif op and x[1] ~= "ind" then
            return apply(k, op, x, nil, forth == "next")
        elseif op and forth == "next" then
            return expr.below(k, op, x) or format("%s(%s)", k:h("ref_" .. op), expr.ref_of(k, x))
        elseif op then
            return format("%s(%s)", k:h("r_" .. op), expr.ref_of(k, x))
        end
        return format("%s(%s,%s)", k:h("ref_step_" .. forth), expr.ref_of(k, x), dir)
    end
end

special.ORDER = step("next", "prev")
special.QUERY = step("query", "queryback")

function special.NEXT(k, args)
    return format("%s(%s)", k:h("ref_oldnext"), expr.ref_of(k, args[1]))
end

function special.ZPREVIOUS(k, args)
    local x = args[1]
    if is_name_only(x) then
        return next_name(k, x, "-1")
    elseif x[1] == "ind" then
        return expr.below(k, "prev", x) or format("%s(%s)", k:h("ref_prev"), expr.ref_of(k, x))
    end
    return apply(k, "prev", x, nil, true)
end

function special.NAME(k, args)
    local below = not args[2] and expr.below(k, "name", args[1])
    return below or format("%s(%s%s)", k:h("ref_name"), expr.ref_of(k, args[1]), more(k, args, 2))
end

function special.ZDATA(k, args)
    return format("%s(%s)", k:h("ref_zdata"), expr.ref_of(k, args[1]))
end

function special.ZAHANDLE(k, args)
    return format("%s(%s)", k:h("f_ZAHANDLE"), expr.ref_of(k, args[1]))
end

function special.ZQGBLMOD(k, args)
    return format("%s(%s)", k:h("f_ZQGBLMOD"), expr.ref_of(k, args[1]))
end

-- $PIECE by one character, which is known; nil: it is another one.
local function piece_by_one(k, f, args)
    local d = args[2]
    if d and d[1] == "const" and not args[4] and #args <= 3 then
        local text = tostring(d[2])
        if #text == 1 and string.byte(text) < 128 then
            local looked = draft.piece1(k, f, args[1], string.byte(text), args[3])
            if looked then
                return looked
            end
            local n = args[3] and value(k, args[3]) or "1"
            return format("%s(%s,%d,%s)", k:h(f), value(k, args[1]), string.byte(text), n)
        end
    end
end

function special.PIECE(k, args)
    return piece_by_one(k, "piece1", args) or format("%s(%s)", k:h("f_PIECE"), string.sub(more(k, args), 2))
end

-- Where a number is wanted, a piece needs no text.
expr.numbers["fn"] = function(k, node)
    return node[2] == "PIECE" and piece_by_one(k, "npiece1", node[3]) or nil
end

-- Those that look at a text take a draft of it.
local function looking(name, f)
    special[name] = function(k, args)
        return draft.apply(k, f, args) or format("%s(%s)", k:h("f_" .. name), string.sub(more(k, args), 2))
    end
end

looking("LENGTH", "length")
looking("EXTRACT", "extract")
looking("ASCII", "ascii")

-- $FIND($REVERSE(s),c) looks from the end of s: nothing is turned round.
function special.FIND(k, args)
    local s = args[1]
    if s[1] == "fn" and s[2] == "REVERSE" and #args == 2 and not mode.utf8 then
        return format("%s(%s,%s)", k:h("find_back"), value(k, s[3][1]), value(k, args[2]))
    end
    return format("%s(%s)", k:h("f_FIND"), string.sub(more(k, args), 2))
end

-- Name of a local routine is looked for in the one that asks.
function special.STACK(k, args)
    return format("%s(%s)", k:h("f_STACK"), string.sub(more(k, args), 2))
end

expr.emit["fn"] = function(k, node)
    local f = special[node[2]]
    if f then
        return f(k, node[3])
    end
    return k:h("f_" .. node[2]) .. "(" .. string.sub(more(k, node[3]), 2) .. ")"
end

return special
