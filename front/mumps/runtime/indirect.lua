-- indirect.lua - indirection, XECUTE, and entry points whose names are only known at run time.
--
-- Everything is kept by its text: names in one table for all (a name with constant subscripts is only taken
-- apart, not compiled), code in the routine that it was met in, as labels without ^ are that routine's.  Each
-- table begins anew when it is full.

local later = require "mumps.runtime.later"
local call = require "mumps.runtime.frames"
local emit_expr = require "mumps.compiler.expr_emit"
local errors = require "mumps.runtime.error"
local level = require "mumps.runtime.level"
local load = require "mumps.runtime.load"
local number = require "mumps.values.number"
local refs = later "mumps.data.ref"
local sets = require "mumps.compiler.set_emit"
local symbols = require "mumps.runtime.symbols"

local find, sub, format, getinfo = string.find, string.sub, string.format, debug.getinfo
local fail = errors.fail
local S = symbols.table
local M = {}
local MOST, NAMES = 2000, 4096

-- A table by text that does not grow without end: when it is full it becomes the old one, from which is taken
-- what is met again.
local function cache(most)
    local t, old, n = {}, {}, 0
    local function know(text, x)
        n = n + 1
        if n > most then
            t, old, n = {}, t, 1
        end
        t[text] = x
        return x
    end
    return function(text)
        local x = t[text]
        if x == nil then
            x = old[text]
            if x ~= nil then
                know(text, x)
            end
        end
        return x
    end, know
end

local function text_of(v)
    return type(v) == "string" and v or number.str(v)
end

-- ---- names with constant subscripts

-- The literal that begins at byte i: its value, and the byte after it.
local function literal(text, i)
    local a, b, digits = find(text, "^(%-?%d+)", i)
    if a and find(text, "^[,)]", b + 1) and #digits < 15 then
        return number.num(digits), b + 1
    end
    if sub(text, i, i) ~= '"' then
        return nil
    end
    local from, parts = i + 1, ""
    while true do
        local q = find(text, '"', from, true)
        if not q then
            return nil
        end
        parts = parts .. sub(text, from, q - 1)
        if sub(text, q + 1, q + 1) ~= '"' then
            return parts, q + 1
        end
        parts, from = parts .. '"', q + 2
    end
end

-- name, {n = count, subs...}; nil if the text is more than that.
local function take_apart(text)
    local _, at, name = find(text, "^(%^?%%?%w*)")
    if at == 0 or not find(name, "^%^?[%a%%]") or #name > 31 then
        return nil
    elseif at == #text then
        return name, {n = 0}
    elseif sub(text, at + 1, at + 1) ~= "(" then
        return nil
    end
    local subs, n, i = {}, 0, at + 2
    while true do
        local v, after = literal(text, i)
        if not v then
            return nil
        end
        n = n + 1
        if n > 31 then
            return nil
        end
        subs[n] = v
        local c = sub(text, after, after)
        if c == ")" and after == #text then
            subs.n = n
            return name, subs
        elseif c ~= "," then
            return nil
        end
        i = after + 1
    end
end

local known, know = cache(NAMES)

-- The name that $NAME(@A@(1)) made last need not be taken apart.
local function just_made(text)
    local newest = refs.newest
    local of, a = newest.of, newest.sub
    if newest.name == text and of.n < 31 and a % 1 == 0 and a < 1E14 and a > -1E14 then
        return refs.extend_by_one(of, a)
    end
end

local function learn(text)
    local made = just_made(text)
    if made then
        return know(text, made)
    end
    local name, subs = take_apart(text)
    if not name then
        return know(text, false)
    end
    subs.name = name
    if sub(name, 1, 1) ~= "^" then
        subs.slot = S[name]
    end
    return know(text, subs)
end

-- What a text is as a name: {name, n, subs...}, with slot if it is a local's; false: it takes compiling.
local function name_of(text)
    local r = known(text)
    if r ~= nil then
        return r
    end
    return learn(text)
end

-- ---- compiled

local LONGEST = 8192 -- bytes that XECUTE and indirection take

function M.within_length(text)
    return #text <= LONGEST or fail("INDRMAXLEN", tostring(LONGEST))
end
local within_length = M.within_length

local function compiled(home, kind, text, make)
    within_length(text)
    home.xcount = (home.xcount or 0) + 1
    if home.xcount > MOST then
        home.xcache, home.xcount = {}, 1
    end
    local of_kind = home.xcache[kind]
    if not of_kind then
        of_kind = {}
        home.xcache[kind] = of_kind
    end
    local f, code = make()
    of_kind[text] = f
    home.xcache[f] = code
    return f
end

-- The code of a text with @ in it may run that of another, or its own, without end.
local DEEPEST = 1500 -- frames of Lua; arbitrary, its stack has room for some ten thousand

local function cached(home, kind, text)
    if find(text, "@", 1, true) and getinfo(DEEPEST, "l") then
        return fail("STACKCRIT")
    end
    local of_kind = home.xcache[kind]
    return of_kind and of_kind[text]
end

-- Blanks and a comment at the end do not count.
local function trimmed(text)
    local at, quoted = 1, false
    while at do
        at = find(text, '[";]', at)
        if at and sub(text, at, at) == '"' then
            quoted = not quoted
        elseif at and not quoted then
            text = sub(text, 1, at - 1)
            break
        end
        at = at and at + 1
    end
    return (string.gsub(text, " +$", ""))
end

-- What a function of the parser makes of a text.
local function understand(f, text, ...)
    within_length(text)
    local node, err = f(text, ...)
    if not node and err.mnemonic == "INDEXTRACHARS" then
        local short = trimmed(text)
        if short ~= text then
            return f(short, ...)
        end
    end
    return node, err
end

local function parsed(text)
    if text == "" then
        return fail("VAREXPECTED")
    end
    local node, err = understand(load.parse.name, text)
    if not node then
        return fail(err.mnemonic, unpack(err))
    end
    return node
end

local lvs = {["local"] = true, global = true, naked = true, ind = true}

local function compile_ref(home, kind, text)
    return compiled(home, kind, text, function()
        local node = parsed(text)
        if not lvs[node[1]] then
            return fail("VAREXPECTED")
        end
        return load.snippet(text, home, function(k)
            return "return " .. emit_expr[kind .. "_ref"](k, node)
        end)
    end)
end

-- The reference that a text names, with n more subscripts; kind "late": of a target, whose value comes first.
local function named(home, kind, v, n, a, ...)
    local text = text_of(v)
    local r = name_of(text)
    local ref
    if r and n == 1 then -- without varargs, which are not compiled
        return refs.extend_by_one(r, a)
    elseif r and n > 0 then
        return refs.extend(r, n, a, ...)
    elseif not r then
        ref = (cached(home, kind, text) or compile_ref(home, kind, text))()
    else
        ref = refs.copy(r)
    end
    if n > 0 then
        return refs.extend(ref, n, a, ...)
    end
    return ref
end

local function ind_ref(home, v, n, ...)
    return named(home, "whole", v, n, ...)
end

M.ind_ref = ind_ref

function M.ind_late(home, v, n, ...)
    return named(home, "late", v, n, ...)
end

-- The text of an indirection that names a lock: no naked reference does.
function M.ind_lock(v)
    local text = text_of(v)
    if not find(text, "^%^?[%a%%|%[@]") then
        return fail("LKNAMEXPECTED")
    end
    return text
end


-- op of @v@(a): M.below_next(home, v, a) and the like.
local function below(op)
    M["below_" .. op] = function(home, v, a, by)
        local r = name_of(text_of(v))
        if r then
            return refs.below[op](r, a, by)
        end
        return refs[op](ind_ref(home, v, 1, a), by)
    end
end
for _, op in ipairs {"get", "peek", "kill", "data", "next", "prev", "name", "incr"} do
    below(op)
end

-- SET @v@(a)=new in two steps, as the new value comes after the reference: what v names, and a; or the whole
-- reference and nil.
function M.below_at(home, v, a)
    local r = name_of(text_of(v))
    if r then
        return r, a
    end
    return M.ind_late(home, v, 1, a), nil
end

function M.below_set(r, a, new)
    if a == nil then
        return refs.set_late(r, new)
    end
    return refs.below.set(r, a, new)
end

local function compile_value(home, text)
    return compiled(home, "value", text, function()
        local node = parsed(text)
        return load.snippet(text, home, function(k)
            return "return " .. emit_expr.value(k, node)
        end)
    end)
end

function M.ind_get(home, v)
    local text = text_of(v)
    local r = name_of(text)
    if r and r.n == 0 and r.slot then
        return symbols.get(r.slot)
    elseif r then
        return refs.get(r)
    end
    local value = (cached(home, "value", text) or compile_value(home, text))()
    return value -- not as a tail call, which would be without end instead of too deep
end

-- The value of what a text is, which `parse` reads; node_of makes the expression of it.
local function evaluated(home, kind, v, parse, node_of)
    local text = text_of(v)
    local f = cached(home, kind, text) or compiled(home, kind, text, function()
        local node, err = parse(text)
        if not node then
            return fail(err.mnemonic, unpack(err))
        end
        return load.snippet(text, home, function(k)
            return "return " .. emit_expr.value(k, node_of and node_of(node) or node)
        end)
    end)
    local value = f()
    return value -- as above
end

-- Any expression: QUIT @x.
function M.ind_value(home, v)
    return evaluated(home, "expr", v, load.parse.expr)
end

-- A pattern, or @ and what has one.
function M.ind_pattern(home, v)
    local text, rounds = text_of(v), 0
    while find(text, "^@") do
        rounds = rounds + 1
        text = rounds < DEEPEST and text_of(M.ind_value(home, sub(text, 2))) or fail("STACKCRIT")
    end
    return text
end

function M.ind_peek(home, v, n, ...)
    return refs.peek(ind_ref(home, v, n, ...))
end

local function compile_place(home, text)
    return compiled(home, "place", text, function()
        local node, constant = parsed(text)
        local f, code = load.snippet(text, home, function(k)
            local lua
            lua, constant = sets.place(k, node)
            return lua
        end)
        if constant then
            local place = f()
            return function() return place end, code
        end
        return f, code
    end)
end

-- SET @v=new: the place, with its subscripts, before the new value is known.
function M.ind_place(home, v)
    local text = text_of(v)
    local r = name_of(text)
    if not r then
        return (cached(home, "place", text) or compile_place(home, text))()
    elseif r.slot and r.n == 0 then
        return r.slot
    end
    return r
end

function M.ind_set(place, new)
    if type(place) == "function" then
        return place(new)
    elseif place.c then
        place.c.v = new
        return
    end
    return refs.set_late(place, new)
end

-- The slot of a name without subscripts; of an actual by reference if `actual`.
function M.ind_slot(home, v, actual)
    local text = text_of(v)
    local r = name_of(text)
    if r and r.slot and r.n == 0 then
        return r.slot
    end
    local ref = ind_ref(home, text, 0)
    if not ref.slot or ref.n ~= 0 then
        return fail(actual and ref.slot and "INDEXTRACHARS" or "VAREXPECTED")
    end
    return ref.slot
end

-- ZWRITE @v@(...): the reference, and more subscripts as ZWRITE has them.
function M.ind_target(home, v, subs)
    local ref = ind_ref(home, v, 0)
    local t = {kind = ref.slot and "local" or "global", name = ref.slot and ref.slot.name or ref.name,
        env = ref.env}
    for i = 1, ref.n do
        t[i] = {"e", ref[i]}
    end
    for i = 1, subs.n do
        t[ref.n + i] = subs[i]
    end
    t.n = ref.n + subs.n
    return t
end

-- ---- arguments of commands

local writers = {}

function writers.IF(args)
    return function(k)
        local out = {}
        for i, arg in ipairs(args) do
            out[i] = arg[1] == "argind" and format("%s(C,\"IF\",%s)", k:h("argument"), emit_expr.value(k,
                arg[2]))
                or emit_expr.cond(k, arg)
        end
        return "return " .. table.concat(out, " and ")
    end
end

function writers.GOTO(args)
    local commands = require "mumps.compiler.cmd_emit"
    return function(k)
        local out = {}
        for i, arg in ipairs(args) do
            local f = arg[1] == "argind" and format("%s(C,\"GOTO\",%s)", k:h("argument"), emit_expr.value(k,
                arg[2]))
                or commands.target(k, arg)
            out[i] = format("if %s then return %s end", arg.pc and emit_expr.cond(k, arg.pc) or "true", f)
        end
        return table.concat(out, " ")
    end
end

local function compile_argument(home, command, text)
    return compiled(home, command, text, function()
        local args, err = understand(function(t)
            return load.parse.argument(command, t)
        end, text)
        if not args then
            return fail(err.mnemonic, unpack(err))
        elseif writers[command] then
            return load.snippet(text, home, writers[command](args))
        end
        return load.commands({{command, args}}, text, home)
    end)
end

-- Commands that do nothing with an empty argument.
local NOTHING = { HANG = true, IF = true, WRITE = true, XECUTE = true, ZSHOW = true, ZSYSTEM = true }

-- Those that it leaves without an argument, or gives an empty one.
local ALONE = { BREAK = {}, TROLLBACK = {}, ZPRINT = {}, ZLINK = { { "zlink", { "const", "" } } } }

-- Argument indirection: do what the command does with those arguments; what it returns is IF's and GOTO's.
function M.argument(home, command, v)
    local text = text_of(v)
    if text == "" and NOTHING[command] then
        return true
    elseif text == "" and ALONE[command] then
        return load.commands({{command, ALONE[command]}}, text, home)()
    end
    local a, b, c = (cached(home, command, text) or compile_argument(home, command, text))()
    return a, b, c -- as above
end

-- ---- XECUTE

-- What does not compile is an error of the XECUTE.
local function compile_line(home, text)
    return compiled(home, "x", text, function()
        for _, cmd in ipairs(load.parse.line(text).cmds) do
            if cmd[1] == "ERROR" then
                return fail(cmd[2][1].mnemonic, unpack(cmd[2][1]))
            end
        end
        return load.line(text, home, "x")
    end)
end

function M.xecute(home, v)
    local text = text_of(v)
    return call.xecute(cached(home, "x", text) or compile_line(home, text))
end

-- ---- entry points

local function home_of(home, routine)
    if routine then
        return load.routines[text_of(routine)]
    elseif home == load.empty then
        return level.running() or home
    end
    return home
end

local function line_at(code, label, offset)
    local line = 0
    if label and label ~= "" then
        line = code.labels[label] or fail("LABELMISSING", label)
    elseif not offset then
        return 1
    end
    line = line + (offset and number.int(offset) or 0)
    return line == 0 and 1 or line -- as in GT.M: what is before the first line is that line
end

local function function_at(code, label, offset)
    local line = line_at(code, label, offset)
    local f = load.at_line(code, line)
    if not f then
        return fail("OFFSETINV", label or "", tostring(offset), code.name)
    end
    return f
end

function M.label_of(code, label)
    return code.by[label] or fail("LABELMISSING", label)
end

-- The function to go to.
function M.target(home, label, offset, routine)
    local code = home_of(home, routine)
    label = label and text_of(label)
    if not offset then
        return M.label_of(code, label or "")
    end
    return function_at(code, label, offset)
end

function M.enter_at(home, label, offset, routine, kind, n, ...)
    local code = home_of(home, routine)
    label = label and text_of(label)
    if not offset then
        return call.enter(code, label or "", kind, n, ...)
    elseif n > 0 then
        return fail("ACTLSTEXP")
    end
    return call.call(function_at(code, label, offset))
end

-- ---- $TEXT

local function code_for_text(home, routine)
    if not routine then
        return home_of(home)
    end
    local ok, code = pcall(home_of, home, routine)
    return ok and code
end

-- Indirection in the argument is of its text: @x+1 is "+1" if x is empty, and x can have an offset, too.
local function spelled(label, offset, routine)
    local more = (offset or label) and "+" .. text_of(number.int(offset or 0)) or ""
    return (label or "") .. more .. (routine and "^" .. routine or "")
end

function M.text(home, label, offset, routine)
    label, routine = label and text_of(label), routine and text_of(routine)
    if label and not find(label, "^[%w%%]%w*$") or routine and not find(routine, "^[%a%%]%w*$") then
        return M.ind_text(home, spelled(label, offset, routine))
    end
    local code = code_for_text(home, routine)
    if not code or not code.starts then
        return ""
    end
    local line = 0
    if label then
        line = code.labels[label] or not routine and code.hidden and code.hidden[label]
        if not line then
            return ""
        end
    elseif not offset then
        line = 1
    end
    line = line + (offset and number.int(offset) or 0)
    if line == 0 then
        return code.name
    elseif line < 0 or line > code.count then
        return ""
    end
    return level.source_of(code, line)
end

local function text_node(entry)
    return {"text", entry}
end

local function text_entry(text)
    local node, err = load.parse.entry(text)
    if not node and err.mnemonic == "LABELEXPECTED" then
        err = {mnemonic = "TEXTARG"}
    end
    return node, err
end

function M.ind_text(home, v)
    return evaluated(home, "TEXT", v, text_entry, text_node)
end

-- ---- $ORDER and others of references

function M.next_local(_, name, dir)
    return symbols.next_name(name, dir)
end

local function step(ref, dir)
    if ref.n > 0 then
        return dir < 0 and refs.prev(ref) or dir > 0 and refs.next(ref)
    elseif ref.slot then
        return symbols.next_name(ref.slot.name, dir)
    end
    return require("mumps.data.globals").next_name(ref.name, dir, ref.env)
end

M.ref_step_next = step

function M.ref_next(ref)
    return step(ref, 1)
end

function M.ref_prev(ref)
    return step(ref, -1)
end

function M.ref_step_query(ref, dir)
    return dir < 0 and refs.queryback(ref) or refs.query(ref)
end

function M.ref_oldnext(ref)
    if ref.n == 0 and ref.slot then
        return fail("LVORDERARG")
    end
    if ref.n > 0 and ref[ref.n] == -1 then
        ref[ref.n] = ""
    end
    local v = step(ref, 1)
    return v == "" and -1 or v
end

function M.ref_name(ref, depth)
    if depth then
        local n = number.int(depth)
        if n < 0 then
            return fail("FNNAMENEG")
        elseif n < ref.n then
            ref.n = n
        end
    end
    return require "mumps.values.names".checked(refs.name(ref))
end

function M.ref_zdata(ref)
    if ref.slot then
        return require("mumps.runtime.alias").zdata[ref.n](ref.slot, unpack(ref, 1, ref.n))
    end
    return refs.data(ref)
end

-- ---- ways out

function M.halt(code)
    return errors.rethrow(errors.control{control = "halt", code = code and number.int(code) or 0})
end

-- n as $ZLEVEL counts; f gives the function to go on with.
function M.zgoto(n, f)
    local now = level.L.n + 1
    n = n and number.int(n) or now
    if n < 0 then
        n = now + n
    end
    if n > now or n < 0 then
        return fail(n < 0 and "ZGOTOLTZERO" or "ZGOTOTOOBIG")
    elseif f then
        local target = f()
        return errors.rethrow(errors.control{control = "goto", level = n - 1, fn = target, halt = n == 0})
    elseif n == 0 then
        local in_etrap = require("mumps.runtime.trap").ztrap == ""
        return errors.rethrow(errors.control{control = "halt", code = 0, in_etrap = in_etrap, zgoto = true})
    elseif n < now then
        local first, trap = level.first_trap(n - 1) -- what its trap called goes to that level: it ends
        return errors.rethrow(errors.control{control = "goto", level = first or n, trap = trap})
    end
end

function M.job(home, label, offset, routine, params, timeout, n, ...)
    local code = not routine and home_of(home)
    local args = {n = math.max(n, 0), ...}
    return require("mumps.io.system").job(label or "", offset, routine or code.name, args, params, timeout)
end

return M
