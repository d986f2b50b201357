-- flow.lua - a line of M as one line of Lua: IF, ELSE and FOR govern what is after them.
--
-- FOR becomes a loop; QUIT without argument within it goes to the label after the loop, GOTO is a return.
--
--     do local s,t,l=<start>,<step>,<limit> X.c.v=s
--     if not beyond(s,t,l) then local u=0 while true do <ask for signals now and then: u counts turns>
--     <rest> local v=X.c.v local n=add(v,t) if beyond(n,t,l) then X.c.v=plus(v) break end X.c.v=n end end
--     end ::q1::
--
-- With several specifications an outer loop goes through them and calls the rest once for each: st is nil for
-- a single value, li is nil where there is no limit.

local commands = require "mumps.compiler.cmd_emit"
local errors = require "mumps.runtime.error"
local expr = require "mumps.compiler.expr_emit"
local fold = require "mumps.compiler.fold"
local loops = require "mumps.compiler.for_emit"
local names = require "mumps.compiler.names"
local sets = require "mumps.compiler.set_emit"
local tstart = require "mumps.compiler.tstart_emit"
local format, concat = string.format, table.concat
local value, cond = expr.value, expr.cond
local number_of, spec_of = loops.number_of, loops.spec_of

local M = {}
local sequence

-- ---- IF, ELSE

local function if_argument(k, arg)
    if arg[1] == "argind" then
        return format("%s(C,\"IF\",%s)", k:h("argument"), value(k, arg[2]))
    end
    return cond(k, arg)
end

local DEEPEST = 60

-- After an IF of a constant that is false nothing is reached but an error of the compiler: that is raised.
local function dead_error(args, cmds)
    local last = cmds[#cmds]
    if last[1] ~= "ERROR" then return nil end
    for _, arg in ipairs(args) do
        if fold.is_false(arg) then return last end
    end
end

local function emit_if(k, cmds, i, ctx)
    ctx.depth = (ctx.depth or 0) + 1
    if ctx.depth > DEEPEST and tstart.may_hoist(ctx) then
        ctx.depth = 0
        return format("do return %s() end", tstart.rest_function(k, cmds, i - 1, ctx, sequence))
    end
    local args = cmds[i][2]
    if #args == 0 then
        return format("if T.t~=0 then %s end", sequence(k, cmds, i + 1, ctx))
    end
    local dead = dead_error(args, cmds)
    if dead then
        return commands.do_cmd.ERROR(k, dead)
    end
    local head, tail = {}, {}
    for j, arg in ipairs(args) do
        head[j] = format("if %s then T.t=1 ", if_argument(k, arg))
        tail[j] = " else T.t=0 end"
    end
    return concat(head) .. sequence(k, cmds, i + 1, ctx) .. concat(tail)
end

local function emit_else(k, cmds, i, ctx)
    return format("if T.t==0 then %s end", sequence(k, cmds, i + 1, ctx))
end

-- ---- FOR

-- A step or a limit that is a number in the text.
local function literal(node)
    if node[1] == "const" then
        return tonumber(node[2]) and type(node[2]) == "number" and node[2]
    elseif node[1] == "un" and node[2] == "-" then
        local n = literal(node[3])
        return n and n ~= 0 and -n
    end
end

-- Is n beyond the limit l, going by step t?
local function beyond(k, step, n, t, l)
    local d = literal(step)
    if d then
        return format("%s(%s,%s)", k:h(d < 0 and "is_lt" or "is_gt"), n, l)
    end
    return format("%s(%s,%s,%s)", k:h("beyond"), n, t, l)
end

local function body(k, cmds, i, ctx)
    local inner = {quit = k:fresh("q"), pos = ctx.pos, rest = ctx.rest, commits = ctx.commits,
        literal = ctx.literal}
    k.loops = k.loops + 1
    local text = sequence(k, cmds, i + 1, inner)
    k.loops = k.loops - 1
    return text, inner.quits and format(" ::%s::", inner.quit) or ""
end

-- A loop, within a block of its own.  Machine code that does not leave it sees no hook, and so no signal: it
-- asks each TURNS turns.  A short one in others is started often, which counts, too.
local TURNS = 1000

M.tells_turns = false -- are loops compiled that tell profile.lua of each turn?

local function told(k)
    return M.tells_turns and format("%s(%d,%d) ", k:h "turn", k.now * 65536 + k.id, k.loops + 1) or ""
end

local function loop(k, ...)
    return concat {
        "local u=0 while true do u=u+1 ", told(k), "if u==", TURNS, " then u=0 ", k:h "heed", "() end ",
        concat { ... }, " end",
    }
end

local function forever(k, cmds, i, ctx)
    local text, label = body(k, cmds, i, ctx)
    return format("do %s() %s end%s", k:h "heed_rarely", loop(k, text), label)
end

-- One specification with a step.
local function counted(k, cmds, i, ctx, var, spec)
    local t, l = number_of(k, spec[2]), spec[3] and number_of(k, spec[3])
    local text, label = body(k, cmds, i, ctx)
    local first = spec[3] and format("if not %s then ", beyond(k, spec[2], "n", "t", "l")) or ""
    local past = spec[3] and beyond(k, spec[2], "n", "t", "l")
    local start = number_of(k, spec[1])
    local turn = format("%s %s%s", text, loops.next_value(k, var, past, "break"), sets.put(k, var, "n"))
    return format("do %s() local n,t,l=%s,%s,%s %s%s%s%s end%s", k:h "heed_rarely", start, t, l or "nil",
        sets.put(k, var, "n"), first, loop(k, turn), spec[3] and " end" or "", label)
end

local function listed(k, cmds, i, ctx, var, specs)
    local parts = {}
    for j, spec in ipairs(specs) do
        parts[j] = spec_of(k, j, spec)
    end
    local text, label = body(k, cmds, i, ctx)
    local past = k:h("beyond")
    return concat{
        "do ", k:h "heed_rarely",
        "() local i,s,t,l=0 while true do i=i+1 ", concat(parts, "else"), "else break end ", sets.put(k,
            var, "s"),
        format("if t==nil or l==nil or not %s(s,t,l) then ", past),
        loop(k, text, " if t==nil then break end ",
            loops.next_value(k, var, format("l~=nil and %s(n,t,l)", past), "break"), sets.put(k, var, "n")),
        " end end end", label,
    }
end

local function emit_for(k, cmds, i, ctx)
    local cmd = cmds[i]
    local specs, var = cmd[2], cmd.var
    if not var then
        return forever(k, cmds, i, ctx)
    end
    local out = {}
    local held = sets.held(k, var, out)
    local text
    if #specs == 1 and #specs[1] > 1 then
        text = counted(k, cmds, i, ctx, held, specs[1])
    else
        text = listed(k, cmds, i, ctx, held, specs)
    end
    if #out == 0 then
        return text
    end
    -- The label after the loop stays visible: the locals are in a block around all of it.
    return "do " .. concat(out) .. text .. " end"
end

-- ---- a line

local function any_for(k, cmds, i, ctx)
    if ctx.rest and tstart.needs_rest(cmds, i + 1) then
        return tstart.for_loop(k, cmds, i, ctx, sequence)
    end
    return emit_for(k, cmds, i, ctx)
end

local function emit_tstart(k, cmds, i, ctx)
    return tstart.tstart(k, cmds, i, ctx, sequence)
end

local function emit_tcommit(k, cmds, i, ctx)
    if ctx.commits and not ctx.quit then
        return tstart.tcommit(k, cmds, i, ctx, sequence)
    end
    return nil
end

local governing = {IF = emit_if, ELSE = emit_else, FOR = any_for, TSTART = emit_tstart,
    TCOMMIT = emit_tcommit}

-- What the emitter can't do is an error when it is reached.
local function unconditional(k, cmd, ctx)
    local ok, text = pcall(commands.do_cmd[cmd[1]], k, cmd, ctx)
    if not ok then
        errors.tell(text)
        return format("%s(%s)", k:h("unimplemented"), names.quote(cmd[1]))
    end
    return text
end

local function statement(k, cmd, ctx)
    local outer = k.literal
    k.literal = outer or cmd.literal -- it was in the text of an XECUTE
    local text = unconditional(k, cmd, ctx)
    k.literal = outer
    return cmd.pc and expr.when(k, cmd, text) or text
end

function sequence(k, cmds, i, ctx)
    local out, n = {}, 0
    while i <= #cmds do
        local cmd = cmds[i]
        local govern = governing[cmd[1]]
        local text = govern and govern(k, cmds, i, ctx)
        n = n + 1
        out[n] = text or statement(k, cmd, ctx)
        if text then
            break
        end
        i = i + 1
    end
    return n == 1 and out[1] or concat(out, " ")
end

-- All commands of a line from the i-th on.  rest() gives the return that goes on after the line; commits:
-- there is a TSTART in the same function.
function M.line(k, cmds, i, pos, rest, commits)
    k.now, k.nest, k.loops = math.floor(pos / 65536), 0, 0
    return sequence(k, cmds, i, {pos = pos, rest = rest, commits = commits})
end

M.sequence = sequence
commands.sequence = sequence

return M
