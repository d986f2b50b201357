-- tstart_emit.lua - TSTART and TCOMMIT: what follows them is a function, so that it can begin again.
--
--     TS S ^A=1 TC W "x"   ->   return tp_start(function() set(^A,1)
--                                  return tp_after(function() write("x") <fall> end) end)
--
-- ctx.fall is a return that goes on with the next line, which is a function then (emit.lua's rest).  A FOR
-- that governs a TSTART becomes functions that call each other by tail calls, as its loop has to be entered
-- from within.

local expr = require "mumps.compiler.expr_emit"
local sets = require "mumps.compiler.set_emit"
local format, concat = string.format, table.concat
local value = expr.value

local M = {}

function M.contains(cmds, from, name)
    for i = from, #cmds do
        if cmds[i][1] == name then
            return true
        end
    end
    return false
end

-- The return that goes on after this line.
local function fall(ctx)
    if not ctx.fall then
        ctx.fall = ctx.rest and ctx.rest() or "return"
    end
    return ctx.fall
end

-- ---- the commands

local function names_of(k, names)
    if names == nil then
        return "nil"
    elseif names == "*" then
        return "\"*\""
    end
    local out = {}
    for i, item in ipairs(names) do
        out[i] = item[1] == "local" and k:slot(item[2]) or format("%s(C,%s)", k:h("ind_slot"), value(k,
            item[2]))
    end
    return "{" .. concat(out, ",") .. "}"
end

local function parameters(k, params)
    local serial, id = "false", "nil"
    for _, p in ipairs(params or {}) do
        if p[1] == "SERIAL" then
            serial = "true"
        elseif p[2] then
            id = value(k, p[2])
        end
    end
    return serial .. "," .. id
end

-- sequence is flow.lua's.
function M.tstart(k, cmds, i, ctx, sequence)
    local cmd = cmds[i]
    local arg = cmd[2][1] or {}
    local names = arg[1] == "tstart" and names_of(k, arg[2]) or "nil"
    local params = parameters(k, arg[3])
    local rest = sequence(k, cmds, i + 1, ctx)
    local text = format("do return %s(function() %s %s end,%s,%s) end", k:h("tp_start"), rest, fall(ctx),
        names, params)
    if not cmd.pc then
        return text
    end
    return format("if %s then %s end ", expr.cond(k, cmd.pc), text) .. sequence(k, cmds, i + 1, ctx)
end

function M.tcommit(k, cmds, i, ctx, sequence)
    local cmd = cmds[i]
    local rest = sequence(k, cmds, i + 1, ctx)
    local text = format("do return %s(function() %s %s end) end", k:h("tp_after"), rest, fall(ctx))
    if not cmd.pc then
        return text
    end
    return format("if %s then %s end ", expr.cond(k, cmd.pc), text) .. sequence(k, cmds, i + 1, ctx)
end

-- ---- FOR

local function inner(ctx, leave, step)
    return {pos = ctx.pos, leave = leave, fall = "return " .. step .. "()", rest = ctx.rest,
        commits = ctx.commits}
end

local function number_of(k, node)
    return format("%s(%s)", k:h("plus"), value(k, node))
end

local function spec_of(k, j, spec)
    if #spec == 1 then
        return format("if i==%d then s,t,l=%s,nil,nil ", j, value(k, spec[1]))
    end
    return format("if i==%d then s,t,l=%s,%s,%s ", j, number_of(k, spec[1]), number_of(k, spec[2]),
        spec[3] and number_of(k, spec[3]) or "nil")
end

local function forever(k, cmds, i, ctx, sequence)
    local loop = k:fresh("loop")
    local text = sequence(k, cmds, i + 1, inner(ctx, fall(ctx), loop))
    return format("do local %s function %s() %s return %s() end return %s() end", loop, loop, text, loop,
        loop)
end

function M.for_loop(k, cmds, i, ctx, sequence)
    local specs, var = cmds[i][2], cmds[i].var
    if not var then
        return forever(k, cmds, i, ctx, sequence)
    end
    local out, parts = {}, {}
    local held = sets.held(k, var, out)
    for j, spec in ipairs(specs) do
        parts[j] = spec_of(k, j, spec)
    end
    local loop, step, next_spec = k:fresh("loop"), k:fresh("step"), k:fresh("spec")
    local leave = fall(ctx)
    local text = sequence(k, cmds, i + 1, inner(ctx, leave, step))
    local past = k:h("beyond")
    return concat{
        "do ", concat(out), format("local i,s,t,l=0 local %s,%s ", loop, next_spec),
        format("local function %s() if t==nil then return %s() end ", step, next_spec),
        format("local n=%s(%s,t) ", k:h("add"), sets.get(k, held)),
        format("if l~=nil and %s(n,t,l) then return %s() end ", past, next_spec), sets.put(k, held, "n"),
        format("return %s() end function %s() i=i+1 ", loop, next_spec), concat(parts, "else"),
        "else ", leave, " end ", sets.put(k, held, "s"),
        format("if t==nil or l==nil or not %s(s,t,l) then return %s() end ", past, loop),
        format("return %s() end function %s() %s return %s() end return %s() end", next_spec, loop, text,
            step,
            next_spec),
    }
end

return M
