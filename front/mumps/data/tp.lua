-- tp.lua - transactions.
--
--     TSTART -> open(), start(k) -> k(), the rest -> TCOMMIT in it commits -> k returns: done
--                             ^               |
--                             '-- RESTART: put back locals, $TEST, naked indicator, levels; k() again
--
-- A transaction can begin again as long as its driver, the start() of the outermost TSTART, is on the stack:
-- the frame of a TSTART can't be left while the transaction is in progress (TPQUIT). A conflict is an error
-- that is thrown, report.RESTART, which nobody but the driver catches.
--
-- What leaves that frame otherwise, a ZGOTO or an error on its way to a trap, rolls back what began in it.
--
-- An M error in k is offered to the traps of its level here, so that a TRESTART in a trap still has its
-- driver.
--
-- T.saved: what locals that a TSTART names were, when the first one named them: saved[slot] = {v, a}. A
-- transaction that names none (TSTART without an argument) can't begin again: it runs alone.

local C = require "mumps.host"
local A = require "mumps.runtime.array"
require "mumps.runtime.walk"
local G = require "mumps.data.globals"
local lock = require "mumps.data.lock"
local report = require "mumps.data.report"

local tp = {}

local begin, c_commit, c_rollback = C.caret_mumps__begin, C.caret_mumps__commit, C.caret_mumps__rollback
local RESTART = report.RESTART
local NEXT = {} -- what tp.after() returns
local XECUTE = 3 -- L.kind of a level of XECUTE
local MOST = 4 -- restarts that $TRESTART counts
local MOST_LEVELS = 126 -- of $TLEVEL, though TPTOODEEP says 127

local T = {level = 0, base = 0, restarts = 0,
           calls = 0, floor = 0, -- calls from a host that are in progress; levels before the last one
           floors = {}, hosts = {}, made_in = {}, -- by call: floor, session; by level: the call it began in
           session = false, driver = false, restartable = false,
           asked = false, -- TRESTART was used in the last try
           timed = false, -- $ZMAXTPTIME limits it
           frames = {}, -- by level of transactions: the level of M that it began at
           saved = {}, all = false}

local test = require "mumps.runtime.test"
local levels = require "mumps.runtime.level"
local special = require "mumps.runtime.special"
local L, N = levels.L, require "mumps.runtime.symbols".stack

local function failed(rc) return report.failed(rc, function() return "" end, "Transaction failed because") end

-- -------------------------------------------------------------------- locals

local function save(slot)
    if T.saved[slot] then return end
    local c = slot.c
    local v = A.peek[0](slot)
    T.saved[slot] = {v = v, a = A.copy(c.a)}
end

local naked = {p = G.new_place(), name = false, env = false} -- the indicator as a transaction found it

local function slots() return require "mumps.runtime.symbols".table end

local function save_names(names)
    if names == "*" then
        T.all = true
        for _, slot in pairs(slots()) do save(slot) end
        return
    end
    for _, slot in ipairs(names) do save(slot) end
end

local function restore_locals()
    if T.all then
        for _, slot in pairs(slots()) do
            if not T.saved[slot] then A.kill[0](slot) end
        end
    end
    for slot, was in pairs(T.saved) do
        local c = slot.c
        c.v, c.a, c.b = was.v, A.copy(was.a), false
    end
end

-- ------------------------------------------------------------------ beginning

local function limit()
    T.timed = true
    require("mumps.runtime.timeout").begin_transaction(special.maxtptime)
end

-- What a TSTART is in; a level of XECUTE may be left without its end.
local function frame_of_now()
    local n = L.n
    while n > 0 and L.kind[n] == XECUTE do n = n - 1 end
    return n
end

local function open(names, id, pos)
    if T.base + T.level >= MOST_LEVELS then return report.fail("TPTOODEEP") end
    local s = T.session or G.session(G.default)
    local batch = id and (id:upper() == "BA" or id:upper() == "BATCH")
    local rc = begin(s, batch and 1 or 0, names == nil and 1 or 0)
    if rc ~= 0 then return failed(rc) end
    T.level = T.level + 1
    T.frames[T.level], T.made_in[T.level] = frame_of_now(), T.calls
    if T.level > 1 then return end
    T.session, T.restarts, T.restartable, T.all = s, 0, names ~= nil, false
    T.asked = false
    T.pos = pos
    T.naked, T.test = G.save_naked(naked), test.t
    lock.keep()
    if special.maxtptime > 0 then limit() end
end

local function close()
    if T.timed then
        T.timed = false
        require("mumps.runtime.timeout").end_transaction()
    end
    if next(T.saved) then T.saved = {} end
    T.session, T.naked, T.driver = false, nil, false
end

-- Everything as it was at the TSTART, and the engine's transaction begun again.
local function again(n, top)
    local rc = C.caret_mumps__restart(T.session)
    if rc ~= 0 then return failed(rc) end
    T.level = 1
    if T.restarts < MOST then T.restarts = T.restarts + 1 end
    levels.unwind(n, top)
    lock.forget()
    restore_locals()
    G.restore_naked(T.naked)
    test.t = T.test
end

-- -------------------------------------------------------------------- driver

local function wrong_quit(pos)
    local e = report.object("TPQUIT")
    levels.locate(e)
    e.place = levels.place_at(pos) or e.place
    return report.raise(e)
end

-- What k returned: a value, and the position of the QUIT.  The frame of a TSTART ends: so must its level,
-- which the end of an $ETRAP's text rolls back.
local function settle(level, first, second, ended)
    if first == NEXT then return second() end
    if T.level >= level and ended then
        tp.rollback(level - 1)
    elseif T.level >= level then
        if L.kind[L.n] ~= XECUTE then return wrong_quit(second) end
        if level == 1 then T.driver = false end -- it can't begin again any more
    end
    return first, second, ended
end

local function is_error(e) return type(e) == "table" and e.m ~= nil end

-- It failed: an M error is for the traps of its level, which may end by one, too.
local function trapped(ok, a, b, c)
    while not ok and is_error(a) and T.level > 0 do
        local e = a
        ok, a, b, c = pcall(levels.trap, e)
        if not ok and a == e then break end
    end
    return ok, a, b, c
end

-- The first run ended by a.
local function repeated(k, n, top, a)
    local ok, b, c
    ok, a, b, c = trapped(false, a)
    while not ok do
        if a ~= RESTART then
            T.driver = false
            return error(a, 0)
        end
        again(n, top)
        ok, a, b, c = trapped(pcall(k))
    end
    return settle(1, a, b, c)
end

-- Without a loop, which would keep it out of traces.
local function drive(k)
    local n, top = L.n, N.top
    T.driver = true
    local ok, a, b, c = pcall(k)
    if ok then return settle(1, a, b, c) end
    return repeated(k, n, top, a)
end

-- TSTART.  names: nil, "*", or slots.  Its level of transactions.
function tp.open(names, _, id, pos)
    open(names, id and report.text(id), pos)
    if names then save_names(names) end
    return T.level
end

-- What comes after a TSTART of that level, k.
function tp.start(level, k)
    if level == 1 and T.base == 0 then return drive(k) end
    return settle(level, k())
end

-- --------------------------------------------------------------------- ending

-- The innermost level that is not of this call's: nobody but its own call, or the host, ends it.
local function of_others(name)
    local made_in = T.made_in[T.floor] or T.calls - 1
    return report.fail(name, T.calls, made_in)
end

function tp.commit()
    if tp.level() == 0 then return report.fail("TLVLZERO") end
    if T.level == T.floor then return of_others("CALLINTCOMMIT") end
    local rc = c_commit(T.session)
    if rc == 2 then return tp.conflict() end
    if rc ~= 0 then return failed(rc) end
    T.level = T.level - 1
    if T.level > 0 then return end
    T.restarts = 0
    lock.settle()
    close()
end

-- What comes after a TCOMMIT.
function tp.after(k2) return NEXT, k2 end

-- How many levels are to be left, those of the host among them.
local function target(n, levels_now)
    n = n or 0
    if n < 0 then
        if -n > levels_now then return report.fail("TROLLBK2DEEP", -n, levels_now) end
        return levels_now + n
    end
    if n > 0 and n >= levels_now then return report.fail("INVROLLBKLVL", n, levels_now) end
    return n
end

-- Of M's own levels so many are left.
local function undo(left)
    while T.level > left do
        local rc = c_rollback(T.session)
        if rc ~= 0 then return failed(rc) end
        T.level = T.level - 1
    end
    G.restore_naked(false)
    if left > 0 then return end
    T.restarts = 0
    lock.forget()
    lock.settle()
    close()
end

function tp.rollback(n)
    if tp.level() == 0 then return report.fail("TLVLZERO") end
    local left = target(n, tp.level()) - T.base
    if left < T.floor then return of_others("CALLINTROLLBACK") end
    return undo(left)
end

-- All levels of M above n have been left by a ZGOTO or an error.
function levels.abandon(n)
    local left = T.level
    while left > 0 and T.frames[left] > n do left = left - 1 end
    if left < T.level then undo(left) end
end

-- Somebody changed what was read.
function tp.conflict()
    if T.base > 0 or T.driver and T.restartable then return error(RESTART, 0) end
    return report.fail("TPFAIL")
end
report.conflict = tp.conflict

function tp.restart()
    if tp.level() == 0 then return report.fail("TLVLZERO") end
    if T.base > 0 then
        if tp.restarts() == MOST then return report.fail("TRESTMAX") end
        return error(RESTART, 0)
    end
    if T.driver and T.restartable then
        if T.asked then return report.fail("TRESTMAX") end
        T.asked = T.restarts >= MOST - 1
        return error(RESTART, 0)
    end
    local e = report.object("TRESTNOT")
    e.text = ("%s,%%YDB-E-TRESTLOC, Transaction start: %s, Transaction failure: %s"):format(
        e.text, levels.place_at(T.pos) or "", levels.place())
    levels.locate(e)
    e.place = levels.place_at(T.pos) or e.place
    return report.raise(e)
end

-- ---------------------------------------------------------------- questions

function tp.level() return T.base + T.level end
function tp.restarts()
    if T.base == 0 then return T.restarts end
    return math.min(MOST, C.caret_mumps__restarts(T.hosts[T.calls]))
end
function tp.is_restart(e) return e == RESTART end

require("mumps.runtime.commands").ZWRITE = require "mumps.data.zwrite".command

local readers = special.readers
readers.TLEVEL, readers.TRESTART, readers.REFERENCE = tp.level, tp.restarts, G.reference

--- A call from a host that works in session s begins, perhaps in transactions of the host.  These begin again
-- where the host says so: a conflict leaves M by report.RESTART.  Returned is what tp.exit() takes.
function tp.enter(s)
    local before = T.base
    T.calls, T.floor = T.calls + 1, T.level
    T.floors[T.calls], T.hosts[T.calls] = T.floor, s
    T.base = s ~= nil and math.max(0, C.caret_mumps__level(s) - T.level) or 0
    return before, T.level
end

--- The transactions that are in progress, without those of the host.
function tp.own() return T.level end

--- A call ends: what began in it, after tp.own() was so many, is undone.
function tp.leave(own)
    if T.level > own then undo(own) end
end

--- The call is over.  What M began and did not end, by an error that is told, is undone.
function tp.exit(before, own)
    T.base, T.calls = before, T.calls - 1
    T.floor = T.floors[T.calls] or 0
    tp.leave(own)
end

-- The n-th reference from now on in a transaction begins it again.
function tp.inject(n) C.caret_mumps__inject(n) end
function tp.injected() return C.caret_mumps__injected() end

return tp
