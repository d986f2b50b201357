-- Signals that interrupt a program: SIGUSR1 has $ZINTERRUPT XECUTEd before the next line of M, SIGINT at a
-- terminal is a prompt there, or ends the line (direct.lua), SIGALRM is $ZTIMEOUT's and $ZMAXTPTIME's
-- (timeout.lua), SIGTERM ends the program as HALT does. Only caret-m has them (host/interrupt.c).  Machine
-- code sees no hook: loops ask each 1,000 turns, by heed(), and so do HANG, READ, LOCK while they wait.
--
-- Memory that is short is told in the same way, as number -1 (host/reserve.c).
--
-- A program that called M asks for the end of the call in the same way, from any of its threads, as number 0:
-- no hook is set, so only loops and what waits see it (bridge/machine.c).

local ffi = require "ffi"
local C = require "mumps.host"
local level = require "mumps.runtime.level"
local memory = require "mumps.runtime.memory"
local special = require "mumps.runtime.special"
local T = require "mumps.runtime.test"

local interrupt = {}

local MEMORY, END, SIGINT, SIGUSR1, SIGALRM, SIGTERM = -1, 0, 2, 10, 14, 15
local FORCED = 241 -- exit status
local running = false
local raised = ffi.new "int[2]" -- by the handler: one came, and which
interrupt.raised = raised
C.caret_mumps__reserve_tell(raised)

special.readers.ZININTERRUPT = function() return running and 1 or 0 end
special.readers.ZYINTRSIG = function() return running and "SIGUSR1" or "" end

-- What had the hook before gets it again; a signal that came meanwhile does not count.
local function restore_hook()
    debug.sethook()
    local watch = package.loaded["mumps.tools.watch"]
    if watch then watch.again() end
end

local function timeout()
    return require "mumps.runtime.timeout"
end

-- $ZINTERRUPT's code, as a level of its own; $TEST stays.
local function job_interrupt()
    local test = T.t
    running = true
    local text = tostring(special.get "ZINTERRUPT")
    local ok, e = pcall(require("mumps.runtime.call").xecute_as, text, "ERRWZINTR")
    running = false
    T.t = test
    restore_hook()
    if package.loaded["mumps.runtime.timeout"] then timeout().again() end
    if not ok then error(e, 0) end
end

local function run_timeout()
    restore_hook()
    return timeout().run()
end

local function tell_late()
    restore_hook()
    return timeout().tell_late()
end

local function control_c()
    restore_hook()
    return require("mumps.tools.direct").interrupted()
end

local function force_halt()
    local device = require "mumps.io.device"
    device.reset_to_principal()
    device.flush()
    local errors = require "mumps.runtime.error"
    io.stderr:write(errors.object("FORCEDHALT").text, "\n")
    error(errors.control{control = "halt", code = FORCED}, 0)
end

-- What SIGALRM leads to; nil: not yet.
local function at_alarm()
    local t = timeout()
    t.rearm()
    if t.late() then return tell_late end
    if t.due() then return run_timeout end
    return not t.waits() and restore_hook or nil
end

-- May the line of that chunk be interrupted?  The function that does it.
local function at(signal, source, line)
    local code = level.codes[tonumber(source:match "%d+")]
    if not code or not code.map[line] then return nil end
    if signal == MEMORY then return memory.relieve end
    if signal == SIGINT then return control_c end
    if signal == SIGTERM then return force_halt end
    if signal == SIGALRM and not running then return at_alarm() end
    return running and restore_hook or job_interrupt
end
memory.tell_at(at)

-- The M that asks is among the callers.
local function answer()
    if raised[1] == END then
        raised[0] = 0
        error(require("mumps.runtime.error").control{control = "halt", ended = true}, 0)
    end
    local depth, caller = 3, debug.getinfo(3, "Sl")
    while caller and not caller.source:find "^=M%d" do
        depth = depth + 1
        caller = debug.getinfo(depth, "Sl")
    end
    local f = caller and at(raised[1], caller.source, caller.currentline)
    if f then
        raised[0] = 0
        debug.sethook()
        f()
    end
end

--- A loop asks: what came is done now, as before a line.
function interrupt.heed()
    if raised[0] ~= 0 then answer() end
end

local calls = 0

--- The same for each GOTO, and each start of a loop: only each 1,000th asks.
function interrupt.heed_rarely()
    calls = calls + 1
    if calls < 1000 then return end
    calls = 0
    if raised[0] ~= 0 then answer() end
end

--- Nothing runs that could be interrupted: what came does not count.
function interrupt.drop()
    if raised[0] ~= 0 then
        raised[0] = 0
        restore_hook()
    end
end

--- Signals of that number count from now on; nil: this is not caret-m. A second one ends the process, if the
--- first was not seen yet, by `deadly`.
function interrupt.want(signal, deadly)
    local interrupts = debug.getregistry()["caret.mumps"].interrupts
    return interrupts and interrupts(signal, at, raised, deadly or false)
end

--- For a program: those that need no terminal.
function interrupt.start()
    interrupt.want(SIGUSR1)
    interrupt.want(SIGTERM)
end

local wants_control_c = false

function interrupt.control_c(deadly) wants_control_c = interrupt.want(SIGINT, deadly) end

--- A READ has got Ctrl-C.
function interrupt.control_c_typed()
    if wants_control_c then return control_c() end
    C.caret_mumps__io_kill(C.caret_mumps__io_pid(), SIGINT)
end

--- A prompt waits: SIGTERM ends the process there. Not any more: one that came is heeded.
function interrupt.at_prompt(is)
    local interrupts = debug.getregistry()["caret.mumps"].interrupts
    if interrupts then interrupts(SIGTERM, not is and at, raised, false) end
end

return interrupt
