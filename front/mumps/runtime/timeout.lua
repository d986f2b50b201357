-- timeout.lua - $ZTIMEOUT: one timer of the process, whose vector is XECUTEd when it has run out; and the
-- time that a transaction may take, $ZMAXTPTIME.
--
-- SIGALRM of an interval timer tells that it ran out; the vector runs before the next line of M, as
-- $ZINTERRUPT does (interrupt.lua); in a transaction, after its end. Machine code
-- does not see signals, so while the timer runs programs are interpreted. In a host of its own, which caret-m
-- is not, no timer is started.
--
-- A transaction that is late gets TPTIMEOUT in the same way, once. Its loops ask, as for any signal: they may
-- stay machine code. The alarm of a transaction that has ended stays set, for the next ones: so there is
-- not one for each.

local C = require "mumps.host"
local ffi = require "ffi"
local number = require "mumps.values.number"
local special = require "mumps.runtime.special"
local T = require "mumps.runtime.test"

ffi.cdef "int setitimer(int which, const long *value, long *old); int raise(int signal);"

local M = {SIGALRM = 14}
local vector = ""
local deadline -- in milliseconds of C.caret_mumps__io_ticks(), while it runs
local cancelled = true -- it was never set, or to less than 0
local late_at -- when the transaction in progress is late, in the same milliseconds
local armed -- when SIGALRM comes next
local heard -- are there signals here?  nil: not asked yet

local function now()
    return C.caret_mumps__io_ticks()
end

local function in_transaction()
    return tonumber(special.get "TLEVEL") > 0
end

-- Milliseconds; 0: none.
local function alarm(ms)
    local us = math.max(math.floor(ms * 1000), ms > 0 and 1 or 0)
    ffi.C.setitimer(0, ffi.new("long[4]", 0, 0, math.floor(us / 1000000), us % 1000000), nil)
end

local function arm(at)
    local t = now()
    if armed and armed > t and armed <= at then return end
    armed = at
    alarm(math.min(math.max(at - t, 0.001), 2E12))
end

--- SIGALRM came, perhaps for what has ended since: what is still to come gets its own.
function M.rearm()
    local t = now()
    if deadline and deadline > t then arm(deadline) end
    if late_at and late_at > t then arm(late_at) end
end

local function stop()
    if deadline then
        deadline, armed = nil, nil
        alarm(0)
        M.rearm()
        if not package.loaded["mumps.tools.watch"] then require("mumps.runtime.memory").compile() end
    end
end

local function start(ms)
    if not require("mumps.runtime.interrupt").want(M.SIGALRM) then return end
    deadline = now() + ms
    jit.off()
    jit.flush()
    if ms > 0 then arm(deadline) else ffi.C.raise(M.SIGALRM) end
end

-- May it run now?
function M.due()
    return deadline and now() >= deadline and not in_transaction()
end

-- Is it over, for a transaction to end?
function M.waits()
    return deadline and now() >= deadline
end

-- The vector, as a level of its own; $TEST stays.
function M.run()
    local test = T.t
    stop()
    require("mumps.runtime.call").xecute(vector)
    T.t = test
end

-- Is the transaction in progress late, and was not told yet?
function M.late()
    return late_at and now() >= late_at
end

-- The vector waits for the end of the transaction.
function M.tell_late()
    late_at = nil
    if M.waits() then ffi.C.raise(M.SIGALRM) end
    return require("mumps.runtime.error").fail "TPTIMEOUT"
end

--- The outermost level of a transaction begins. What $ZMAXTPTIME becomes in it counts for the next one.
function M.begin_transaction(seconds)
    if heard == nil then heard = require("mumps.runtime.interrupt").want(M.SIGALRM) or false end
    if not heard then return end
    late_at = now() + seconds * 1000
    arm(late_at)
end

--- It has ended.
function M.end_transaction() late_at = nil end

-- It ran out while something else was going on.
function M.again()
    if M.due() or M.late() then return ffi.C.raise(M.SIGALRM) end
    M.rearm()
end

local function left()
    if cancelled then return -1 end
    local ms = deadline and math.max(0, math.floor(deadline - now())) or 0
    return number.div(ms, 1000)
end

function M.text()
    local rest = number.str(left())
    return vector == "" and rest or rest .. ":" .. vector
end

-- [SECONDS][:VECTOR]
function M.set(v)
    local seconds, colon, text = number.str(v):match "^([^:]*)(:?)(.*)$"
    if colon ~= "" then
        require("mumps.runtime.trap").compile(text)
        vector = text
    end
    if seconds == "" then return end
    local ms = tonumber(number.num(seconds)) * 1000
    stop()
    cancelled = ms < 0
    if not cancelled then start(ms) end
end

return M
