-- system.lua - HANG, ZSYSTEM, clocks, and what M asks about processes and the environment.
local ffi = require "ffi"
local C = require "mumps.host"
local B = require "mumps.io.base"

local S = { zsystem_status = 0 }

local clock = C.caret_mumps__io_clock
local days, rest, west = ffi.new "double[1]", ffi.new "double[1]", ffi.new "double[1]"
local times = ffi.new "int[4]"

local function str(v)
    return require("mumps.values.number").str(v)
end

local function flush()
    require("mumps.io.device").flush()
end

-- A variable of the environment, or nil.
function S.env(name)
    local text = C.caret_mumps__io_env(name)
    return text ~= nil and ffi.string(text) or nil
end

-- HANG v
function S.hang(v)
    local seconds = tonumber(require("mumps.values.number").num(v))
    flush()
    if seconds <= 0 then
        return
    end
    B.sleep_until(C.caret_mumps__io_ticks() + math.min(seconds, 2147483647) * 1e3)
end

local SIGTERM = 15

-- In a program that called M, which may ask for the end of the call: the child is told to end, too.
local function wait_for(pid)
    local nap = 1
    while true do
        local status = C.caret_mumps__io_reap(pid, 0)
        if status ~= -1 then return status end
        local ok, e = pcall(B.sleep_until, C.caret_mumps__io_ticks() + nap)
        if not ok then
            S.add_job(pid)
            C.caret_mumps__io_kill(pid, SIGTERM)
            error(e, 0)
        end
        nap = math.min(nap * 2, 20)
    end
end

-- A shell command, or "": a shell.  How it ended.
function S.shell(command)
    local shell = S.env "SHELL" or "/bin/sh"
    flush()
    local argv = command == "" and { shell } or { shell, "-c", command }
    local pid = require("mumps.io.pipe").spawn(argv, -1, -1, -1)
    if pid < 0 then
        return B.fail_errno(nil, -pid)
    end
    local own = debug.getregistry()["caret.mumps"].interrupts
    local status = own and C.caret_mumps__io_reap(pid, 1) or wait_for(pid)
    return status >= 256 and status - 256 or status
end

-- ZSYSTEM v
function S.zsystem(v)
    S.zsystem_status = S.shell(v ~= nil and str(v) or "")
end

-- $HOROLOG
function S.horolog()
    C.caret_mumps__io_local(clock(0) / 1e6, days, rest, west)
    return ("%d,%d"):format(days[0], rest[0])
end

-- $ZHOROLOG: with microseconds and seconds west of Greenwich.
function S.zhorolog()
    local now = clock(0)
    C.caret_mumps__io_local(now / 1e6, days, rest, west)
    return ("%d,%d,%d,%d"):format(days[0], rest[0], now % 1e6, west[0])
end

-- $ZUT: microseconds since 1970.
function S.zut()
    return clock(0)
end

-- What $ZTRNLNM tells of a variable that is there, and of one that is not. The numbers are those that fis-gtm
-- gives for what logical names had.
local items = { [""] = { true, "" }, FULL = { true, "" }, VALUE = { true, "" }, LENGTH = { true, "" },
    ACCESS_MODE = { 0, "" }, CONCEALED = { 0, "" }, CONFINE = { 0, "" }, MAX_INDEX = { 0, "" },
    NO_ALIAS = { 1, 1 }, TABLE = { 0, "" }, TABLE_NAME = { "", "" }, TERMINAL = { 1, 0 } }

-- Those of which three letters are enough.
for _, name in ipairs { "FULL", "LENGTH", "TERMINAL", "VALUE" } do
    for n = 3, #name - 1 do items[name:sub(1, n)] = items[name] end
end

-- $ZTRNLNM(name,,,,,item): a variable of the environment, or how long it is.
function S.ztrnlnm(name, _, _, _, _, item)
    local text = str(name)
    local value = text ~= "" and not text:find("\0", 1, true) and S.env(text) or ""
    local what = item and str(item):upper() or ""
    local told = items[what]
    if not told then return B.fail(nil, "BADTRNPARAM", str(item)) end
    if value == "" then return told[2] end
    if told[1] ~= true then return told[1] end
    return told == items.LENGTH and #value or value
end

-- $ZSYSLOG(text)
function S.zsyslog(text)
    C.caret_mumps__syslog(str(text))
    return 1
end

local jobs = {}

-- A process that JOB started: it must be waited for when it has ended, or it would look alive.
function S.add_job(pid)
    jobs[pid] = true
end

function S.reap_jobs()
    for pid in pairs(jobs) do
        if C.caret_mumps__io_reap(pid, 0) ~= -1 then
            jobs[pid] = nil
        end
    end
end

local EPERM = 1

local function alive(pid)
    S.reap_jobs()
    local rc = C.caret_mumps__io_kill(pid, 0)
    return (rc == 0 or rc == -EPERM) and 1 or 0
end

local function spent(...)
    C.caret_mumps__io_times(times)
    local sum = 0
    for _, i in ipairs { ... } do
        sum = sum + times[i]
    end
    return sum
end

local ITEMS = {
    ISPROCALIVE = alive,
    CPUTIM = function() return spent(0, 1) end,
    UTIME = function() return spent(0) end,
    STIME = function() return spent(1) end,
    CUTIME = function() return spent(2) end,
    CSTIME = function() return spent(3) end,
}

-- $ZGETJPI(pid, item)
function S.zgetjpi(pid, item)
    local f = ITEMS[str(item):upper()]
    if not f then
        return B.fail(nil, "BADJPIPARAM", str(item))
    end
    local number = require("mumps.values.number").int(pid)
    return f(number ~= 0 and number or C.caret_mumps__io_pid())
end

local SIGNALS = { HUP = 1, INT = 2, QUIT = 3, ILL = 4, TRAP = 5, ABRT = 6, BUS = 7, FPE = 8, KILL = 9,
    USR1 = 10,
    SEGV = 11, USR2 = 12, PIPE = 13, ALRM = 14, TERM = 15, CHLD = 17, CONT = 18, STOP = 19, TSTP = 20,
        TTIN = 21,
    TTOU = 22, URG = 23, XCPU = 24, XFSZ = 25, VTALRM = 26, PROF = 27, WINCH = 28, IO = 29, PWR = 30,
        SYS = 31 }
local EINVAL = 22

-- $ZSIGPROC(pid, signal): 0, or the system's error.
function S.zsigproc(pid, signal)
    local name = str(signal):upper():gsub("^SIG", "")
    local number = SIGNALS[name] or tonumber(name)
    local target = tonumber(str(pid))
    if not number or not target then
        return EINVAL
    end
    return -C.caret_mumps__io_kill(target, number)
end

-- JOB.
function S.job(...)
    return require("mumps.io.job").job(...)
end

-- For -job.
function S.job_main()
    return require("mumps.io.job").main()
end

return S
