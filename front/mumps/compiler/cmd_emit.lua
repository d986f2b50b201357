-- cmd_emit.lua - commands: AST -> statements of Lua.
--
-- do_cmd[NAME](k, cmd, ctx) returns a statement.  ctx: quit = name of the Lua label after the innermost FOR
-- of the line, or nil; pos = what QUIT returns as its position.  IF, ELSE and FOR are in flow.lua, as they
-- govern the rest of the line.

local expr = require "mumps.compiler.expr_emit"
local sets = require "mumps.compiler.set_emit"
local xecute = require "mumps.compiler.xecute_emit"
local format, concat = string.format, table.concat
local value, cond, more, quote = expr.value, expr.cond, expr.more, expr.quote

local M = {}
local do_cmd = {}
M.do_cmd = do_cmd

-- The statement of one argument, which f(k, arg, ctx, cmd) gives; argument indirection is the same for all.
local function one_argument(f, k, arg, ctx, cmd)
    local text, before -- before: what comes before the condition
    if arg[1] == "argind" then
        text = format("%s(C,%s,%s)", k:h("argument"), quote(cmd[1]), value(k, arg[2]))
    elseif arg[1] == "ERROR" then
        text = value(k, arg)
    else
        text, before = f(k, arg, ctx, cmd)
    end
    if arg.pc then
        text = format("if %s then %s end", cond(k, arg.pc), text)
    end
    if before and before ~= "" then
        text = format("do %s%s end", before, text)
    end
    return text
end

-- One statement for each argument.
local function each(f)
    return function(k, cmd, ctx)
        local args = cmd[2]
        if #args == 1 then
            return one_argument(f, k, args[1], ctx, cmd)
        end
        local out = {}
        for i = 1, #args do
            out[i] = one_argument(f, k, args[i], ctx, cmd)
        end
        return concat(out, " ")
    end
end

M.each = each

do_cmd.SET = each(sets.set)

-- ---- KILL, NEW

local function name_set(k, items)
    local out = {}
    for i, item in ipairs(items) do
        if item[1] == "local" then
            out[i] = format("[%s]=true", quote(item[2]))
        else
            out[i] = format("[%s(C,%s).name]=true", k:h("ind_slot"), value(k, item[2]))
        end
    end
    return "{" .. concat(out, ",") .. "}"
end

local function kill(op)
    return function(k, arg)
        if arg[1] == "exclusive" then
            return format("%s(%s)", k:h("kill_except"), name_set(k, arg[2]))
        elseif arg[1] == "killalias" then
            return format("%s(%s)", k:h("alias_kill"), sets.alias_place(k, arg[2]))
        elseif arg[1] == "killaliases" then
            return k:h("alias_kill_all") .. "()"
        end
        return expr.apply(k, op, arg)
    end
end

local kill_each = each(kill("kill"))

function do_cmd.KILL(k, cmd, ctx)
    if #cmd[2] == 0 then
        return k:h("kill_except") .. "({})"
    end
    return kill_each(k, cmd, ctx)
end

local zkill_each = each(kill("zkill"))
do_cmd.ZKILL = zkill_each
do_cmd.ZWITHDRAW = zkill_each

-- ZTRIGGER: the reference alone.
do_cmd.ZTRIGGER = each(function(k, arg)
    return format("%s(%s)", k:h("cmd_ZTRIGGER"), expr.ref_of(k, arg))
end)

local new_each = each(function(k, arg)
    if arg[1] == "local" then
        return format("%s(%s)", k:h("new"), k:slot(arg[2]))
    elseif arg[1] == "svn" then
        return format("%s()", k:h("new_" .. arg[2]))
    elseif arg[1] == "exclusive" then
        return format("%s(%s)", k:h("new_except"), name_set(k, arg[2]))
    end
    return format("%s(%s(C,%s))", k:h("new"), k:h("ind_slot"), value(k, arg[2]))
end)

function do_cmd.NEW(k, cmd, ctx)
    if #cmd[2] == 0 then
        return k:h("new_except") .. "({})"
    end
    return new_each(k, cmd, ctx)
end

function do_cmd.MERGE(k, cmd, ctx)
    return each(function(_, arg)
        local to, from = expr.ref_of(k, arg[2]), expr.ref_of(k, arg[3])
        if arg[2][1] == "naked" then -- it stands for what the source has left
            return format("do local f=%s(%s) %s(%s,f) end", k:h("r_noted"), from, k:h("r_merge"), to)
        end
        return format("%s(%s,%s)", k:h("r_merge"), to, from)
    end)(k, cmd, ctx)
end

-- ---- WRITE, READ

local formats = {
    nl = "newline", ff = "formfeed", tab = "tab", char = "char",
}

-- What is joined is written part by part, as the one before is seen when the next one fails.
local function write_one(k, arg)
    local op = arg[1]
    if op == "bin" and arg[2] == "_" then
        return write_one(k, arg[3]) .. " " .. write_one(k, arg[4])
    elseif formats[op] then
        return format("%s(%s)", k:h("io_" .. formats[op]), arg[2] and value(k, arg[2]) or "")
    elseif op == "control" then
        local name = type(arg[2]) == "string" and quote(arg[2]) or value(k, arg[2])
        return format("%s(%s%s)", k:h("io_control"), name, more(k, arg[3] or {}))
    elseif op == "const" and #arg == 2 and type(arg[2]) == "string" then
        return format("%s(%s)", k:h("io_write"), quote(arg[2]))
    end
    return format("%s(%s)", k:h("io_write"), value(k, arg))
end

local write_each = each(write_one)
local line_ends = {nl = true, ff = true, argind = true}

-- A line end shows by itself what was written; after anything else the end of the command does.
function do_cmd.WRITE(k, cmd, ctx)
    local args = cmd[2]
    local text, last = write_each(k, cmd, ctx), args[#args]
    if not last or line_ends[last[1]] then
        return text
    end
    return format("%s %s()", text, k:h("io_written"))
end

local function timed(text, timeout, k)
    if not timeout then
        return text
    end
    return format("T.t=%s(%s)", k:h("as_test"), text)
end

local function read_into(k, target, call, timeout)
    local out = {}
    local held = sets.held(k, target, out)
    out[#out + 1] = format("local r,ok=%s ", call)
    out[#out + 1] = sets.put(k, held, "r")
    if timeout then
        out[#out + 1] = "T.t=ok and 1 or 0 "
    end
    return "do " .. concat(out) .. "end"
end

do_cmd.READ = each(function(k, arg)
    local op = arg[1]
    if op == "read" then
        local limit, timeout = arg[3], arg[4]
        local t = timeout and value(k, timeout) or "nil"
        local slot = expr.is_plain(arg[2]) and "," .. k:slot(arg[2][2]) or ""
        if limit then
            local call = format("%s(%s,%s%s)", k:h("io_read_count"), value(k, limit), t, slot)
            return read_into(k, arg[2], call, timeout)
        end
        return read_into(k, arg[2], format("%s(%s%s)", k:h("io_read"), t, slot), timeout)
    elseif op == "readchar" then
        local timeout = arg[3]
        return read_into(k, arg[2], format("%s(%s)", k:h("io_read_char"), timeout and value(k, timeout)
            or "nil"), timeout)
    end
    return write_one(k, arg)
end)

-- ---- devices and the system

local function parameters(k, params)
    if not params or #params == 0 then
        return "nil"
    end
    local out = {}
    for i, p in ipairs(params) do
        out[i] = format("{%s%s}", quote(p[1]), p[2] and "," .. value(k, p[2]) or "")
    end
    return "{" .. concat(out, ",") .. "}"
end

local function optional(k, node)
    return node and value(k, node) or "nil"
end

do_cmd.OPEN = each(function(k, arg)
    local text = format("%s(%s,%s,%s,%s)", k:h("io_open"), value(k, arg[2]), parameters(k, arg[3]),
        optional(k, arg[4]),
        optional(k, arg[5]))
    return timed(text, arg[4], k)
end)

do_cmd.USE = each(function(k, arg)
    return format("%s(%s,%s)", k:h("io_use"), value(k, arg[2]), parameters(k, arg[3]))
end)

do_cmd.CLOSE = each(function(k, arg)
    return format("%s(%s,%s)", k:h("io_close"), value(k, arg[2]), parameters(k, arg[3]))
end)

do_cmd.HANG = each(function(k, arg)
    return format("%s(%s)", k:h("hang"), value(k, arg))
end)

function do_cmd.HALT(k)
    return k:h("halt") .. "()"
end

function do_cmd.ZHALT(k, cmd)
    return format("%s(%s)", k:h("halt"), cmd[2][1] and value(k, cmd[2][1]) or "0")
end

do_cmd.JOB = each(function(k, arg)
    local entry, params, timeout = arg[2], arg[3], arg[4]
    local n, args = expr.actuals(k, entry[5])
    local text = format("%s(C,%s,%s,%s,%d%s)", k:h("job"), expr.entry(k, entry), parameters(k, params),
        optional(k, timeout), n, args)
    return timed(text, timeout, k)
end)

-- ---- LOCK

local function lock(k, arg, which)
    local refs = {}
    for i, node in ipairs(arg[3]) do
        refs[i] = expr.ref_of(k, node[1] == "ind" and {"ind", {"lock_name", node[2]}, node[3]} or node)
    end
    local sign = arg[2]
    local op = which or sign == "+" and "plus" or sign == "-" and "minus" or "lock"
    local text = format("%s({%s},%s)", k:h("lock_" .. op), concat(refs, ","), optional(k, arg[4]))
    return timed(text, arg[4], k)
end

local function lock_command(which, alone)
    local one = each(function(k, arg)
        return lock(k, arg, which)
    end)
    return function(k, cmd, ctx)
        if #cmd[2] == 0 then
            return format("%s({})", k:h("lock_" .. alone))
        end
        return one(k, cmd, ctx)
    end
end

do_cmd.LOCK = lock_command(nil, "lock")
do_cmd.ZALLOCATE = lock_command("zallocate", "zallocate")
do_cmd.ZDEALLOCATE = lock_command("zdeallocate", "zdeallocate")

-- ---- XECUTE and jumps

function do_cmd.XECUTE(k, cmd, ctx)
    local out = {}
    for i, arg in ipairs(cmd[2]) do
        local text
        if arg[1] == "argind" then
            text = format("%s(C,\"XECUTE\",%s)", k:h("argument"), value(k, arg[2]))
        else
            text = xecute.in_place(k, arg, ctx, M.sequence)
                or format("%s(C,%s)", k:h("xecute"), value(k, arg[2]))
        end
        out[i] = arg.pc and format("if %s then %s end", cond(k, arg.pc), text) or text
    end
    return concat(out, " ")
end

local function call_of(k, arg, list)
    if arg[1] == "external" then
        local n, args = expr.actuals(k, list)
        return format("%s(%s,%s,1,%d%s)", k:h("external"), quote(arg[2] or ""), quote(arg[3]), n, args)
    end
    local label, offset, routine = arg[2], arg[3], arg[4]
    if not offset then
        return expr.invoke(k, 1, label, routine, list)
    end
    local n, args = expr.actuals(k, list)
    return format("%s(C,%s,1,%d%s)", k:h("enter_at"), expr.entry(k, arg), n, args)
end

local do_each = each(function(k, arg)
    local list = arg[arg[1] == "external" and 4 or 5]
    if not arg.pc or not list then
        return call_of(k, arg, list)
    end
    local early, held = expr.held_actuals(k, list)
    return call_of(k, arg, held), early
end)

function do_cmd.DO(k, cmd, ctx)
    if #cmd[2] > 0 then
        return do_each(k, cmd, ctx)
    elseif cmd.last and cmd.first and cmd.last >= cmd.first then
        return format("%s(F.B%d)", k:h("block"), cmd.first)
    end
    return ""
end

-- The function to go on with, as text; nil: it is known that there is none.
local function target(k, arg, by_name)
    local label, offset, routine = arg[2], arg[3], arg[4]
    if offset or type(label or "") ~= "string" or type(routine or "") ~= "string" then
        return format("%s(C,%s)", k:h("target"), expr.entry(k, arg))
    elseif routine then
        return format("%s(R[%s],%s)", k:h("label_of"), quote(routine), quote(label or ""))
    elseif by_name then
        return format("%s(C,%s)", k:h("label_of"), quote(label or ""))
    end
    return k.local_target(k, label)
end

M.target = target

local function go(k, arg)
    if arg[1] == "argind" then
        return format("do local g=%s(C,\"GOTO\",%s) if g then %s() return g() end end", k:h("argument"),
            value(k, arg[2]), k:h("heed_rarely"))
    end
    return format("do %s() return %s() end", k:h("heed_rarely"), target(k, arg))
end

function do_cmd.GOTO(k, cmd)
    local out = {}
    for i, arg in ipairs(cmd[2]) do
        local text = go(k, arg)
        out[i] = arg.pc and format("if %s then %s end", cond(k, arg.pc), text) or text
    end
    return concat(out, " ")
end

function do_cmd.ZGOTO(k, cmd)
    local out = {}
    if #cmd[2] == 0 then
        return k:h("zgoto") .. "(1)"
    end
    for i, arg in ipairs(cmd[2]) do
        local text
        if arg[1] == "argind" then
            text = format("%s(C,\"ZGOTO\",%s)", k:h("argument"), value(k, arg[2]))
        else
            local n = optional(k, arg[2])
            local f = arg[3] and format("function() return %s end", target(k, arg[3], true)) or "nil"
            text = format("%s(%s,%s)", k:h("zgoto"), n, f)
        end
        out[i] = arg.pc and format("if %s then %s end", cond(k, arg.pc), text) or text
    end
    return concat(out, " ")
end

function do_cmd.QUIT(k, cmd, ctx)
    local arg = cmd[2][1]
    if not arg then
        if ctx.leave then
            return format("do %s end", ctx.leave)
        elseif ctx.quit then
            ctx.quits = true
            return format("do goto %s end", ctx.quit)
        end
        return format("do return nil,%.0f end", ctx.pos)
    elseif arg[1] == "quitalias" then
        return format("do return %s(%s),%.0f end", k:h("alias_quit"), sets.alias_place(k, arg[2]),
            ctx.pos)
    elseif arg[1] == "argind" or arg[1] == "ind" and not arg[3] then
        return format("do return %s(C,%s),%.0f end", k:h("ind_value"), value(k, arg[2]), ctx.pos)
    end
    return format("do return %s,%.0f end", value(k, arg), ctx.pos)
end

-- ---- transactions: TSTART, and TCOMMIT beside it, are in tstart_emit.lua

function do_cmd.TCOMMIT(k)
    return k:h("tp_commit") .. "()"
end

function do_cmd.TROLLBACK(k, cmd)
    local arg = cmd[2][1]
    if not arg then
        return k:h("tp_rollback") .. "()"
    end
    if arg[1] == "argind" then
        return format("%s(C,\"TROLLBACK\",%s)", k:h("argument"), value(k, arg[2]))
    end
    return format("%s(%s(%s))", k:h("tp_rollback"), k:h("int"), value(k, arg))
end

function do_cmd.TRESTART(k)
    return k:h("tp_restart") .. "()"
end

-- ---- errors of the compiler, and all others

function do_cmd.ERROR(k, cmd)
    return format("%s(%s)", k:h("compile_error"), k:p(k:const{"error", cmd[2][1]}))
end

-- ---- ZWRITE, ZPRINT

local function subscript(k, s)
    local op = s[1]
    if op == "any" then
        return "{\"any\"}"
    elseif op == "range" then
        return format("{\"range\",%s,%s}", optional(k, s[2]), optional(k, s[3]))
    elseif op == "pat" then
        return format("{\"pat\",%s}", k:p(k:const{"pattern", s[2]}))
    end
    return format("{\"e\",%s}", value(k, s))
end

local function subscripts(k, subs)
    local list = {}
    for i, s in ipairs(subs or {}) do
        list[i] = subscript(k, s)
    end
    if subs then
        list[#list + 1] = format("n=%d", #subs)
    end
    return concat(list, ",")
end

-- What ZWRITE shows, as data's zwrite.target() takes it.
local function zwrite_target(k, t)
    local kind, name = t[1], t[2]
    if kind == "naked" then
        return format("{kind=\"naked\",%s}", subscripts(k, t[2]))
    elseif kind == "svn" then
        return format("{kind=\"svn\",name=%s}", quote(name))
    end
    local called
    if type(name) == "table" then
        called = format("pattern=%s", k:p(k:const{"pattern", name[2]}))
    else
        called = format("name=%s", quote(kind == "global" and "^" .. name or name))
    end
    local env = t[4] and value(k, t[4][2]) or "nil"
    return format("{kind=%s,%s,env=%s,%s}", quote(kind), called, env, subscripts(k, t[3]))
end

local zwrite_each = each(function(k, arg)
    local shown = arg[2]
    if shown[1] == "ind" and not shown[3] then
        return format("%s(C,\"ZWRITE\",%s)", k:h("argument"), value(k, shown[2]))
    elseif shown[1] == "ind" then
        return format("%s({%s(C,%s,{%s})})", k:h("cmd_ZWRITE"), k:h("ind_target"), value(k, shown[2]),
            subscripts(k, shown[3]))
    end
    return format("%s({%s})", k:h("cmd_ZWRITE"), zwrite_target(k, shown))
end)

function do_cmd.ZWRITE(k, cmd, ctx)
    if #cmd[2] == 0 then
        return k:h("cmd_ZWRITE") .. "({})"
    end
    return zwrite_each(k, cmd, ctx)
end

local function entry_table(k, e)
    if not e then
        return "nil"
    end
    local label, offset, routine = e[2], e[3], e[4]
    local function name(x)
        return type(x) == "string" and quote(x) or x and value(k, x[2]) or "nil"
    end
    return format("{label=%s,offset=%s,routine=%s or C.name}", name(label), optional(k, offset),
        name(routine))
end

local zprint = each(function(k, arg)
    return format("%s(%s,%s)", k:h("cmd_ZPRINT"), entry_table(k, arg[2]), entry_table(k, arg[3]))
end)

-- Without an argument: the routine whole.
function do_cmd.ZPRINT(k, cmd, ctx)
    return #cmd[2] > 0 and zprint(k, cmd, ctx) or k:h("cmd_ZPRINT") .. "()"
end

do_cmd.ZBREAK = each(function(k, arg)
    local all = arg[1] == "zbreakall"
    return format("%s(%s,%s,%s,%s)", k:h("cmd_ZBREAK"), all and "nil" or entry_table(k, arg[2]),
        optional(k, arg[3]), optional(k, arg[4]), tostring(arg.remove or false))
end)

function do_cmd.ZSTEP(k, cmd)
    local arg = cmd[2][1] or {}
    return format("%s(%s,%s)", k:h("cmd_ZSTEP"), arg[2] and quote(arg[2]) or "nil", optional(k, arg[3]))
end

-- A command that is a function of runtime/commands: its arguments as values.
local function operands(k, arg)
    if type(arg) ~= "table" then
        return "nil"
    elseif arg[1] == "zshow" then
        return format("%s,%s", value(k, arg[2]), arg[3] and expr.ref_of(k, arg[3]) or "nil")
    elseif arg[1] == "view" or arg[1] == "zmessage" or arg[1] == "zlink" or arg[1] == "break" then
        return string.sub(more(k, arg, 2), 2)
    end
    return value(k, arg)
end

-- Those that take a table of values.
local takes_list = {ZSHOW = true, ZSYSTEM = true}
local generic = {}

function generic.others(k, cmd)
    local call = k:h("cmd_" .. cmd[1])
    if #cmd[2] == 0 then
        return call .. (takes_list[cmd[1]] and "({})" or "()")
    end
    local out = {}
    for i, arg in ipairs(cmd[2]) do
        if arg[1] == "argind" then
            out[i] = format("%s(C,%s,%s)", k:h("argument"), quote(cmd[1]), value(k, arg[2]))
        elseif arg[1] == "ERROR" then
            out[i] = value(k, arg)
        elseif takes_list[cmd[1]] then
            out[i] = format("%s({%s})", call, operands(k, arg))
        else
            out[i] = format("%s(%s)", call, operands(k, arg))
        end
    end
    return concat(out, " ")
end

setmetatable(do_cmd, {__index = function()
    return generic.others
end})

return M
