-- frames.lua - calls: one level of M is one protected call.
--
-- A level begins by L.n + 1 and ends by unwinding the NEW stack to where it was.  What an emitted function
-- returns is the QUIT value (nil: none) and its position, line * 65536 + id of the code.  What it throws is
-- shown to trap.caught(); the function that it gives goes on at the same level.
--
-- Labels with formals, or with NEW first, have an entry of their own, emitted for them, which keeps what they
-- save in Lua's locals: it does what level_of() here does, and calls finish() when anything is out of the
-- ordinary.

local errors = require "mumps.runtime.error"
local level = require "mumps.runtime.level"
local symbols = require "mumps.runtime.symbols"
local trap = require "mumps.runtime.trap"
local T = require "mumps.runtime.test"

local pcall, select, type = pcall, select, type
local fail, internal, rethrow = errors.fail, errors.internal, errors.rethrow
local L, kinds, N = level.L, level.L.kind, symbols.stack
local unwind = symbols.unwind

local M = {}
local DO, EXTRINSIC, XECUTE, BLOCK = 1, 2, 3, 4

-- ---- the end of a level

-- QUIT with a value that nobody wants, by level d; one without a value where it is wanted is an error of the
-- caller.
local function wrong_quit(d, p)
    return level.locate_returned(errors.object("NOTEXTRINSIC"), d, p and level.codes[p % 65536],
        p and math.floor(p / 65536))
end

-- The same by the text of a trap: its place is that of the error.
local function wrong_quit_of_trap(d, p)
    local code, seen = p and level.codes[p % 65536], level.failed[d]
    if seen and not (code and code.kind == "routine") then
        return level.locate_returned(errors.object("NOTEXTRINSIC"), d, seen.code, seen.line)
    end
    return wrong_quit(d, p)
end

-- An $ETRAP of level d has come to its end without a QUIT: where the text of another trap has called that
-- level, this ends, too, as with ZGOTO $ZLEVEL-1.
local function ends_callers(d, top)
    L.n = d - 1
    local n, text = level.first_trap(d - 1)
    if n then
        unwind(top)
        return errors.control{control = "goto", level = n, trap = text}
    end
end

-- Level d ends, with ok, v, p from pcall.  Its value; nil, e: an error to be thrown at the level before.
local function run_out(kind, d, top, ok, v, p)
    local before -- the error that this level's trap is about, or a ZGOTO
    local trapped -- the error alone
    local ended -- the text of an $ETRAP, without a QUIT
    while true do
        local left = before and before.control and not before.fn and not before.trap -- by ZGOTO, for good
        if ok and trapped and not left and level.handling == d and trap.ecode ~= "" then
            unwind(top)
            trapped.trapped = true
            if v ~= nil and kind ~= EXTRINSIC then
                return nil, wrong_quit_of_trap(d, p)
            end
            return nil, trapped
        elseif ok then
            trap.note_exit(d, trapped, left or ended)
            if ended and level.abandon then level.abandon(d - 1) end -- transactions that the level began
            local out = ended and trap.ecode == "" and ends_callers(d, top)
            if out then
                return nil, out
            end
            local jumped = before and before.control -- its target is the level's: it has to end as that does
            if (v ~= nil) == (kind == EXTRINSIC) or jumped and (v == nil and trapped or not before.fn) then
                break
            end
            if kind == EXTRINSIC then
                unwind(top)
                local missing = level.no_alias and "QUITALSINV" or "QUITARGREQD"
                level.no_alias = nil
                return nil, errors.object(missing)
            end
            unwind(top) -- its NEWs are undone, and so the trap may be that of the level before
            v = wrong_quit(d, p)
        end
        L.n = d
        local f, e = trap.caught(internal(v), d, before)
        if not f then
            unwind(top)
            return nil, e
        end
        before = e
        trapped = e.m and e or trapped
        ok, v, p, ended = pcall(f)
    end
    unwind(top)
    if v == nil and kind == EXTRINSIC then
        return "" -- ended by a ZGOTO
    end
    return v
end

local function finish(kind, d, top, ok, v, p)
    local value, e = run_out(kind, d, top, ok, v, p)
    if d == level.handling then
        level.handling = nil
    end
    if d == level.base then
        level.base = -1 -- what $STACK() has of the first error stays as it is
    end
    return value, e
end

M.finish = finish

-- What the catcher of this level would do with e, from within it (transactions); e is thrown again if that is
-- nothing, or the trap left it.  Its value; its place; was it the end of an $ETRAP's text?
function level.trap(e)
    local f, left = trap.caught(internal(e), L.n, nil)
    if not f then
        return rethrow(left)
    end
    local v, p, ended = f()
    if left.m and trap.ecode ~= "" and not left.by_ztrap then
        return rethrow(left)
    end
    return v, p, ended
end

-- The error goes on at the level before.
local function pass_on(e)
    level.aliases[L.n + 1] = nil
    if e.m and not e.place then
        level.locate(e)
    elseif e.m then
        level.passed(L.n)
    end
    return rethrow(e)
end

M.pass_on = pass_on

-- Lua's stack has room for some hundred levels.  Further ones run in a thread of their own, for some hundred
-- more: f(...) begins level d.
local STEP = 150

function M.in_thread(limit, f, ...)
    local threads, outer = level.threads, L.limit
    L.limit = limit
    local thread = coroutine.create(f)
    threads[#threads + 1] = thread
    local ok, v, p = coroutine.resume(thread, ...)
    level.begins[#threads], threads[#threads] = nil, nil
    L.limit = outer
    if not ok then
        return rethrow(v)
    end
    return v, p
end

local function too_deep(d, f, ...)
    if d > level.LIMIT then
        L.n = d - 1
        return fail("STACKCRIT")
    end
    level.begins[#level.threads + 1] = d
    return M.in_thread(math.min(d + STEP, level.LIMIT), f, ...)
end

M.too_deep = too_deep

-- ---- levels without formals

-- DO of a label.
function M.call(f)
    local d = L.n + 1
    if d > L.limit then
        return too_deep(d, M.call, f)
    end
    L.n = d
    kinds[d] = DO
    local top = N.top
    local ok, v, p = pcall(f)
    if not ok or v ~= nil or N.top ~= top then
        local _, e = finish(DO, d, top, ok, v, p)
        L.n = d - 1
        if e then
            return pass_on(e)
        end
    end
    L.n = d - 1
end

local call = M.call

-- DO without arguments.
function M.block(f)
    local d = L.n + 1
    if d > L.limit then
        return too_deep(d, M.block, f)
    end
    L.n = d
    kinds[d] = BLOCK
    local top, t = N.top, T.t
    local ok, v, p = pcall(f)
    local _, e
    if not ok or v ~= nil or N.top ~= top then
        _, e = finish(BLOCK, d, top, ok, v, p)
    end
    L.n = d - 1
    T.t = t
    if e then
        return pass_on(e)
    end
end

local function level_of(kind, f)
    local d = L.n + 1
    if d > L.limit then
        return too_deep(d, M.level_of, kind, f)
    end
    L.n = d
    kinds[d] = kind
    local top = N.top
    local ok, v, p = pcall(f)
    local e
    if not ok or N.top ~= top or (v ~= nil) ~= (kind == EXTRINSIC) then
        v, e = finish(kind, d, top, ok, v, p)
    end
    L.n = d - 1
    if e then
        return pass_on(e)
    end
    return v
end

M.level_of = level_of

function M.xecute(f)
    return level_of(XECUTE, f)
end

function M.extrinsic(f)
    local t = T.t
    local v = level_of(EXTRINSIC, f)
    T.t = t
    return v
end

local extrinsic = M.extrinsic

-- ---- formals by the NEW stack: when a container is shared, or an actual is one

-- An actual's container may be the one of a name that is a formal by value, or NEW, too: it counts as shared,
-- so that this name gets another.
local function bind_all(slots, formals, n, ...)
    local from = {}
    for i = 1, n do
        local a = select(i, ...)
        from[i] = type(a) == "table" and a.c or false
        if from[i] then
            symbols.share(from[i])
        end
    end
    for i, slot in ipairs(slots) do
        if from[i] then
            symbols.bind(slot, from[i])
        else
            symbols.new(slot)
            if i <= formals and i <= n then
                slot.c.v = (select(i, ...))
            end
        end
    end
    for i = 1, n do
        if from[i] then
            symbols.unshare(from[i])
        end
    end
end

-- The entry of a label in the general case: the first `formals` of slots are its formals, the others NEW.
function M.slow(kind, f, slots, formals, n, ...)
    local d = L.n + 1
    if d > L.limit then
        return too_deep(d, M.slow, kind, f, slots, formals, n, ...)
    end
    local top, t = N.top, T.t
    bind_all(slots, formals, n, ...)
    L.n = d
    kinds[d] = kind
    local ok, v, p = pcall(f)
    local e
    if not ok or (v ~= nil) ~= (kind == EXTRINSIC) then
        v, e = finish(kind, d, top, ok, v, p)
    end
    unwind(top)
    L.n = d - 1
    if kind == EXTRINSIC then
        T.t = t
    end
    if e then
        return pass_on(e)
    end
    return v
end

-- ---- by name

-- DO (or $$) of an entry point of a code, with n actuals; n = -1: without a list.
local function enter(code, label, kind, n, ...)
    if n >= 0 and not code.formals[label] and code.by[label] then
        return fail("FMLLSTMISSING", label)
    end
    local entry = code.entries[label]
    if entry then
        return entry(kind, n, ...)
    end
    local f = code.by[label]
    if not f then
        return fail("LABELMISSING", label)
    end
    if kind == EXTRINSIC then
        return extrinsic(f)
    end
    return call(f)
end

M.enter = enter

-- The same of a routine by its name, which is looked for when the actuals are there.
function M.enter_routine(routines, name, label, kind, n, ...)
    return enter(routines[name], label, kind, n, ...)
end

-- Too many actuals: an error of the label that is called, at the level which it would have; pos is its place.
function M.too_many(kind, label, pos)
    local function wrong()
        local e = errors.object("ACTLSTTOOLONG", label)
        return rethrow(level.locate_returned(e, L.n, level.codes[pos % 65536], math.floor(pos / 65536)))
    end
    return (kind == EXTRINSIC and extrinsic or call)(wrong)
end

M.kinds = {DO = DO, ["$$"] = EXTRINSIC, XECUTE = XECUTE}

return M
