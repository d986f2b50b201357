-- tstart_emit.lua - TSTART and TCOMMIT: what follows them is a function, so that it can begin again.
--
--     TS S ^A=1 TC W "x"   ->   return tp_start(tp_open(), function() set(^A,1)
--                                  return tp_after(tp_close(), function() write("x") <fall> end) end)
--
-- What can fail, open and close, is called first: a tail call has no frame that tells where it is.
--
-- ctx.fall is a return that goes on with the next line, which is a function then (emit.lua's rest).  A FOR
-- that governs a TSTART becomes functions that call each other by tail calls, as its loop has to be entered
-- from within.

local expr = require "mumps.compiler.expr_emit"
local loops = require "mumps.compiler.for_emit"
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

-- ---- functions at the level of the routine: they are compiled, which closures made in a loop are not

local function hoist(k, ctx, write, last)
    local name = k:rest_name()
    k:begin(name)
    local text = write()
    k:line(math.floor(ctx.pos / 65536), text)
    k:finish(last)
    return name
end

-- No FOR is around it, whose state is in locals.
function M.may_hoist(ctx)
    return ctx.rest and not ctx.quit and not ctx.leave and not ctx.fixed
end

-- The rest of the line, and what follows, as the text of a function.
local function rest_function(k, cmds, i, ctx, sequence)
    local after = fall(ctx)
    local may = M.may_hoist(ctx)
    local name = may and string.match(after, "^return (F%.[%w_]+)%(%)$")
    if name and i >= #cmds then
        return name
    elseif may then
        return hoist(k, ctx, function()
            return sequence(k, cmds, i + 1, ctx)
        end, after)
    end
    return format("function() %s %s end", sequence(k, cmds, i + 1, ctx), after)
end

M.rest_function = rest_function

-- ---- the commands

local function names_of(k, names)
    if names == nil then
        return "nil"
    elseif names == "*" then
        return "\"*\""
    end
    local out, plain = {}, {"names"}
    for i, item in ipairs(names) do
        if item[1] == "local" then
            plain[i + 1] = item[2]
            out[i] = k:slot(item[2])
        else
            plain = nil
            out[i] = format("%s(C,%s)", k:h("ind_slot"), value(k, item[2]))
        end
        plain = plain or {}
    end
    if #plain == #names + 1 then
        return k:p(k:const(plain))
    end
    return "{" .. concat(out, ",") .. "}"
end

local function parameters(k, params, pos)
    local serial, id = "false", "nil"
    for _, p in ipairs(params or {}) do
        if p[1] == "SERIAL" then
            serial = "true"
        elseif p[2] then
            id = value(k, p[2])
        end
    end
    return format("%s,%s,%.0f", serial, id, pos)
end

-- Commands that neither leave the line nor govern it.
local plain = {SET = true, KILL = true, MERGE = true, WRITE = true, LOCK = true, HANG = true, USE = true,
    ZKILL = true}

-- Where the TCOMMIT is that ends what a TSTART begins, if all between is plain.
local function straight_end(cmds, i)
    if cmds[i].pc then
        return nil
    end
    for j = i + 1, #cmds do
        if cmds[j][1] == "TCOMMIT" and not cmds[j].pc then
            return j
        elseif not plain[cmds[j][1]] then
            return nil
        end
    end
end

-- Is there a TSTART from i on that needs the rest of the line as a function?
function M.needs_rest(cmds, i)
    for j = i, #cmds do
        if cmds[j][1] == "TSTART" and not straight_end(cmds, j) then
            return true
        end
    end
    return false
end

local conditional = {IF = true, ELSE = true, FOR = true}

-- Does a line go on in a function of its own whatever happens?
function M.always_leaves(cmds, i, commits)
    while i <= #cmds do
        local cmd = cmds[i]
        local straight = cmd[1] == "TSTART" and straight_end(cmds, i)
        if conditional[cmd[1]] then
            return false
        elseif not cmd.pc and not straight and (cmd[1] == "TSTART" or cmd[1] == "TCOMMIT" and commits) then
            return true
        end
        i = (straight or i) + 1
    end
    return false
end

-- TSTART ... TCOMMIT in a row: a function that returns F when it has come to its end.
local function straight(k, cmds, i, j, ctx, sequence, names, params)
    local between = {}
    for n = i + 1, j - 1 do
        between[#between + 1] = cmds[n]
    end
    local name = hoist(k, ctx, function()
        return sequence(k, between, 1, {pos = ctx.pos}) .. format(" %s()", k:h("tp_commit"))
    end, "return F")
    return format("do local m,p=%s(%s(%s,%s),%s) if m~=F then return m,p end end ", k:h("tp_start"),
        k:h("tp_open"), names, params, name)
        .. sequence(k, cmds, j + 1, ctx)
end

-- sequence is flow.lua's.
function M.tstart(k, cmds, i, ctx, sequence)
    local cmd = cmds[i]
    local arg = cmd[2][1] or {}
    local names = arg[1] == "tstart" and names_of(k, arg[2]) or "nil"
    local params = parameters(k, arg[3], ctx.pos)
    local j = straight_end(cmds, i)
    if j then
        return straight(k, cmds, i, j, ctx, sequence, names, params)
    end
    local rest = rest_function(k, cmds, i, ctx, sequence)
    local text = format("do return %s(%s(%s,%s),%s) end", k:h("tp_start"), k:h("tp_open"), names, params,
        rest)
    if not cmd.pc then
        return text
    end
    return expr.when(k, cmd, text) .. sequence(k, cmds, i + 1, ctx)
end

function M.tcommit(k, cmds, i, ctx, sequence)
    local cmd = cmds[i]
    local rest = rest_function(k, cmds, i, ctx, sequence)
    local text = format("do return %s(%s(),%s) end", k:h("tp_after"), k:h("tp_close"), rest)
    if not cmd.pc then
        return text
    end
    return expr.when(k, cmd, text) .. sequence(k, cmds, i + 1, ctx)
end

-- ---- FOR

local function inner(ctx, leave, step)
    return {pos = ctx.pos, leave = leave, fall = "return " .. step .. "()", rest = ctx.rest,
        commits = ctx.commits}
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
        parts[j] = loops.spec_of(k, j, spec)
    end
    local loop, step, next_spec = k:fresh("loop"), k:fresh("step"), k:fresh("spec")
    local leave = fall(ctx)
    local text = sequence(k, cmds, i + 1, inner(ctx, leave, step))
    local past = k:h("beyond")
    return concat{
        "do ", concat(out), format("local i,s,t,l=0 local %s,%s ", loop, next_spec),
        format("local function %s() if t==nil then return %s() end ", step, next_spec),
        loops.next_value(k, held, format("l~=nil and %s(n,t,l)", past), format("return %s()", next_spec)),
        sets.put(k, held, "n"),
        format("return %s() end function %s() i=i+1 ", loop, next_spec), concat(parts, "else"),
        "else ", leave, " end ", sets.put(k, held, "s"),
        format("if t==nil or l==nil or not %s(s,t,l) then return %s() end ", past, loop),
        format("return %s() end function %s() %s return %s() end return %s() end", next_spec, loop, text,
            step,
            next_spec),
    }
end

return M
