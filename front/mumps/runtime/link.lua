-- link.lua - H: what emitted code calls, by name.  A name is resolved when a chunk that uses it is loaded.
--
--     aget2 adata1 ..  gget2 gdata1 ..   families of locals (runtime/array) and of globals (data/globals)
--     r_get r_set ..                     references as tables (data/ref)
--     f_PIECE sv_ZSTATUS set_ZTRAP new_ETRAP cmd_ZWRITE io_write
--     d_piece1                           functions of values/draft
--     all others                         the lists below
--
-- What is missing raises UNIMPLOP when it is called.

local errors = require "mumps.runtime.error"
local symbols = require "mumps.runtime.symbols"
local level = require "mumps.runtime.level"
local T = require "mumps.runtime.test"
local match, fail = string.match, errors.fail

local H = {}
local from = {}

local function missing(name)
    return function()
        return fail("UNIMPLOP", name)
    end
end

-- ---- lists: module -> names, or {name here = name there}

local function list(path, names)
    for here, there in pairs(names) do
        from[type(here) == "number" and there or here] = {path, there}
    end
end

jit.off(list) -- once for each module

list("mumps.values.number", {"str", "num", "truth", "int", "add", "sub", "mul", "div", "idiv", "mod", "pow",
    "neg", "plus",
    "is_lt", "is_gt"})
list("mumps.values.decimal", {"nadd", "nsub", "nmul", "ndiv", "nidiv", "nmod", "nneg", "nplus", "canon"})
list("mumps.values.text", {"is_eq", "is_contains", "is_follows", "is_sortsafter",
    "is_sortsafter_known", "concat", "concat_list"})
list("mumps.values.piece", {"piece1", "npiece1"})
list("mumps.values.text", {"find_back"})
list("mumps.values.pattern", {"is_match"})
list("mumps.runtime.symbols", {"new", "new_except", "kill_except", "undefined", "fraction",
    "set_number", "set_text", "set_copy", "shared", "peek", "append", "pending", "offer",
    "unset", "view", "view_or_empty",
    "leave", "share",
    "unshare"})
list("mumps.runtime.frames", {"call", "block", "extrinsic", "slow", "finish", "pass_on", "too_deep",
    "too_many", "enter", "enter_routine"})
list("mumps.runtime.indirect", {"ind_ref", "ind_late", "ind_lock", "ind_target", "ind_get", "ind_pattern",
    "ind_value", "ind_peek", "ind_set", "ind_place", "ind_slot",
    "ind_text",
    "argument", "xecute",
    "enter_at", "target", "label_of", "text", "ref_next", "ref_prev", "ref_step_next", "ref_step_query",
        "ref_oldnext",
    "ref_name", "below_get", "below_peek", "below_data", "below_next", "below_prev", "below_name",
    "below_kill", "below_incr", "below_at", "below_set",
    "ref_zdata", "zgoto", "halt", "job", "next_local"})
list("mumps.data.globals", {next_global = "next_name", g_at = "at"})
list("mumps.data.lock", {lock_lock = "lock", lock_plus = "plus", lock_minus = "minus",
    lock_zallocate = "zallocate",
    lock_zdeallocate = "zdeallocate"})
list("mumps.runtime.alias", {alias_kill = "kill", alias_kill_all = "kill_all", alias_set = "set",
    alias_container = "container", alias_valued = "valued"})
list("mumps.data.tp", {tp_start = "start", tp_commit = "commit", tp_rollback = "rollback",
    tp_restart = "restart"})
list("mumps.io.system", {"hang"})
list("mumps.runtime.interrupt", {"heed", "heed_rarely"})
list("mumps.tools.profile", {"turn"})
list("mumps.bridge.xcall", {"external"})

-- ---- small ones

function H.default(v, default)
    return v or default
end

function H.both(a, b)
    return a and b
end

function H.either(a, b)
    return a or b
end

-- Does SET $PIECE or $EXTRACT of these set anything?
function H.sets_any(first, last)
    first = first and H.int(first) or 1
    return (last and H.int(last) or first) >= math.max(first, 1)
end

-- What & and ! are when their right operand does not decide; its references are the arguments.
function H.skip_and()
    return 0
end

function H.skip_or()
    return 1
end

function H.as_test(ok)
    return ok and 1 or 0
end

local EXTRINSIC = require("mumps.runtime.frames").kinds["$$"]

-- QUIT *X: the container goes on living when X's NEW ends. Where $$f() is a value it is an error of the
-- caller.
function H.alias_quit(...)
    local c = H.alias_container(...)
    local n = level.L.n
    if level.L.kind[n] == EXTRINSIC and not level.aliases[n] then
        level.no_alias = true
        return nil
    end
    symbols.share(c)
    return c
end

function H.alias_end(slot, n, ...)
    require("mumps.runtime.alias").end_at(slot, n, {...})
end

-- Before SET * calls $$f().
function H.alias_called()
    level.aliases[level.L.n + 1] = true
end

-- What $$f() gives to SET *: the container of QUIT *.
function H.alias_result(c)
    level.aliases[level.L.n + 1] = nil
    if type(c) ~= "table" then
        return fail("ALIASEXPECTED")
    end
    return c
end

function H.select_false()
    return fail("SELECTFALSE")
end

-- DO and $$ of a label, GOTO to one, that the routine does not have.
function H.unknown_label(name)
    return fail("LABELUNKNOWN", name)
end

-- The same in the text of an XECUTE.
function H.missing_label(name)
    return fail("LABELMISSING", name)
end

-- NAME(subscript,...) of values, where a label or routine is wanted.
function H.subscripted(name, ...)
    local node = require("mumps.values.names").name
    return node(require("mumps.values.number").str(name), select("#", ...), {...})
end

function H.no_label(name)
    return fail("LABELNOTFND", name)
end

function H.no_formals(name)
    return fail("FMLLSTMISSING", name)
end

function H.list_too_long(name)
    return fail("ACTLSTTOOLONG", name)
end

function H.fall_into()
    return fail("FALLINTOFLST")
end

function H.unimplemented(name)
    return fail("UNIMPLOP", name)
end

function H.compile_error(e)
    return fail(e.mnemonic, unpack(e))
end

function H.direction(v)
    local text = H.str(v)
    if text ~= "1" and text ~= "-1" then
        return fail("ORDER2")
    end
    return text == "1" and 1 or -1
end

-- Is n beyond the limit, going by that step?
function H.beyond(n, step, limit)
    if H.is_lt(step, 0) then
        return H.is_lt(n, limit)
    end
    return H.is_gt(n, limit)
end


-- ---- those with a prefix

-- TSTART and TCOMMIT: at[n] is the level of M calls at which transaction level n began.
-- What loads a module would not be compiled: a program that has one of them asks for it once.
local at, tp = {}, false

local function open(names, serial, id, pos)
    at[tp.level() + 1] = level.L.n
    return tp.open(names, serial, id, pos)
end

-- Is what ends one of this level?
local function close()
    local here = at[tp.level()] == level.L.n
    tp.commit()
    return here
end

local function after(here, k)
    if here then
        return tp.after(k)
    end
    return k()
end

local own = {tp_open = open, tp_close = close, tp_after = after}

local families = {a = "mumps.runtime.array", g = "mumps.data.globals"}

local function family(name)
    local which, op, n = match(name, "^([ag])(%l+)(%d+)$")
    local m = which and require(families[which])
    return m and m[op] and m[op][tonumber(n)]
end

local function special(name, table_name, io_name)
    local m = require("mumps.runtime.special")
    local f = m and m[table_name] and m[table_name][name]
    if f then
        return f
    end
    m = require("mumps.io.special")
    return m and io_name and m[io_name] and m[io_name][name]
end

local prefixes = {}

function prefixes.r(name)
    local m = require("mumps.data.ref")
    return m and (m[name] or m[name .. "_"])
end

function prefixes.f(name)
    local mine, values = require "mumps.runtime.functions", require("mumps.values.functions")
    return values and values[name] or mine[name]
end

-- d_piece1, and d_join3 of three texts.
function prefixes.d(name)
    local draft = require "mumps.values.draft"
    local n = match(name, "^join(%d+)$")
    return n and draft.join[tonumber(n)] or draft[name]
end

function prefixes.sv(name)
    return special(name, "readers", "get")
end

function prefixes.set(name)
    return name ~= "TEST" and special(name, "writers", "set") or function()
        return fail("SVNOSET")
    end
end

function prefixes.new(name)
    return special(name, "news") or function()
        return fail("SVNONEW")
    end
end

function prefixes.cmd(name)
    return require("mumps.runtime.commands")[name]
end

function prefixes.io(name)
    local m = require("mumps.io.device")
    return m and m[name]
end

local function resolve(name)
    if own[name] then
        tp = require "mumps.data.tp"
        return own[name]
    end
    local f = from[name]
    if f then
        local m = require(f[1])
        return m and m[f[2]]
    end
    local prefix, rest = match(name, "^(%l+)_(.+)$")
    if prefix and prefixes[prefix] then
        return prefixes[prefix](rest)
    end
    return family(name)
end

setmetatable(H, {__index = function(t, name)
    local f = resolve(name)
    if f == nil then
        return missing(name)
    end
    t[name] = f
    return f
end})


H.T, H.S = T, symbols.table

return H
