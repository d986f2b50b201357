-- profile.lua - VIEW "TRACE": how often lines, labels and turns of FOR ran, and how long, as nodes of a
-- global.
--
--     ^G(ROUTINE,LABEL,OFFSET)="count:user:system:total:elapsed"       a line, in microseconds
--     ^G(ROUTINE,LABEL)                                               the same of what was called by DO or $$
--     ^G(ROUTINE,LABEL,OFFSET,"FOR_LOOP",n)=turns                     of the n-th FOR of the line
--     ^G("*RUN")="user:system:total", ^G("*CHILDREN")
--
-- Lines are told by watch.lua.  The time from the beginning of a line to that of the next one is the first
-- one's; that of calls is with the lines that they run.  Turns are told by loops that were compiled for it:
-- those of routines that have a VIEW "TRACE" in their text, and of all that are loaded while it is on.

local C = require "mumps.host"
local flow = require "mumps.compiler.flow"
local level = require "mumps.runtime.level"
local number = require "mumps.values.number"
local routine = require "mumps.runtime.routine"
local watch = require "mumps.tools.watch"

local profile = {}

local target -- the reference that results go to; nil: off
local counts -- by routine, by line: {n =, calls =, cpu =, wall =, turns = {by level}}
local last, since_cpu, since_wall -- the line that runs, and when it began

local L = level.L

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

local function microseconds(of_process)
    return math.floor(tonumber(C.caret_mumps__nanoseconds(of_process)) / 1000)
end

local function entry(name, line)
    local lines = counts[name] or {}
    counts[name] = lines
    local e = lines[line] or {n = 0, calls = 0, cpu = 0, wall = 0, turns = {}}
    lines[line] = e
    return e
end

-- The time since the line began is its.
local function charge()
    local cpu, wall = microseconds(true), microseconds(false)
    if last then
        last.cpu, last.wall = last.cpu + cpu - since_cpu, last.wall + wall - since_wall
    end
    since_cpu, since_wall = cpu, wall
end

local BLOCK = 4

local function on_line(code, line, is_entered)
    charge()
    last = entry(code.name, line)
    last.n = last.n + 1
    if is_entered and L.kind[L.n] ~= BLOCK then last.calls = last.calls + 1 end
end

-- The line that a position is in, line * 65536 + id of the code.  An XECUTE belongs to the line that has it.
local function entry_at(position)
    local code = level.codes[position % 65536]
    if code and code.kind == "routine" then return entry(code.name, math.floor(position / 65536)) end
    return last
end

-- A turn of the n-th FOR of a line begins.
function profile.turn(position, n)
    local e = target and entry_at(position)
    if not e then return end
    e.n = math.max(e.n, 1)
    e.turns[n] = (e.turns[n] or 0) + 1
end

-- ---- results

local function times(e)
    return ("%.0f:0:%.0f:%.0f"):format(e.cpu, e.cpu, e.wall)
end

local function put(ref, value, ...)
    local R = require "mumps.data.ref"
    return R.set(R.extend(ref, select("#", ...), ...), value)
end

local function put_line(ref, name, label, offset, e)
    put(ref, ("%d:%s"):format(e.n, times(e)), name, label, offset)
    for n, turns in pairs(e.turns) do put(ref, turns, name, label, offset, "FOR_LOOP", n) end
end

-- Of a routine: its lines, and of its labels the sums of those lines at which a call began.
local function put_routine(ref, name, code, lines)
    local labels = {}
    for line, e in pairs(lines) do
        local label, offset = level.place_of(code, line):match "^([^+^]*)%+?(%d*)"
        put_line(ref, name, label, tonumber(offset) or 0, e)
        if e.calls > 0 then
            local sum = labels[label] or {n = 0, cpu = 0, wall = 0}
            labels[label] = sum
            sum.n, sum.cpu, sum.wall = sum.n + e.calls, sum.cpu + e.cpu, sum.wall + e.wall
        end
    end
    for label, sum in pairs(labels) do put(ref, ("%d:%s"):format(sum.n, times(sum)), name, label) end
end

local function put_all(ref)
    local cpu = microseconds(true)
    put(ref, "0:0:0", "*CHILDREN")
    put(ref, ("%.0f:0:%.0f"):format(cpu, cpu), "*RUN")
    for name, lines in pairs(counts) do
        local r = routine.look(name)
        if r then put_routine(ref, name, r.code, lines) end
    end
end

-- ---- VIEW "TRACE"

local function unusable(text, why)
    return require("mumps.runtime.error").fail_with(",%YDB-I-TEXT, " .. why, "VIEWNOTFOUND", text)
end

-- The reference of a name whose subscripts are constants or $JOB.
local function reference(text)
    if text:sub(1, 1) ~= "^" then return fail("NOTGBL", text) end
    local job = tostring(require("mumps.runtime.special").get "JOB")
    local plain = text:gsub("([(,])%$[Jj][Oo]?[Bb]?%f[,)]", "%1" .. job)
    local ok, parsed = pcall(require("mumps.values.names").parse, plain)
    if not ok then
        return unusable(text, plain:find "%)$" and "Improperly formatted numeric subscript"
            or "Right parenthesis expected")
    end
    return require("mumps.data.ref").global(parsed.name, parsed.env, parsed.n, unpack(parsed, 1, parsed.n))
end

local function begin(text)
    if not text then return fail "TRACEON" end
    if target then return end
    target = reference(number.str(text))
    counts, last = {}, nil
    since_cpu, since_wall = microseconds(true), microseconds(false)
    flow.tells_turns = true
    routine.forget_quiet()
    watch.set("profile", on_line)
end

local function finish(text)
    if not target then return end
    local ref = text and reference(number.str(text)) or target
    charge()
    watch.set("profile", nil)
    flow.tells_turns = false
    target = nil
    put_all(ref)
end

-- VIEW "TRACE":on[:global].
function profile.view(on, text)
    if number.int(on) ~= 0 then return begin(text) end
    return finish(text)
end

-- The program begins: $ydb_trace_gbl_name.
function profile.from_environment(name)
    pcall(begin, name)
end

-- It ends.
function profile.at_end()
    if target then pcall(finish) end
end

return profile
