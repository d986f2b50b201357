-- mumps.runtime.start: what a program begins and ends with: -run, -job.

local special = require "mumps.runtime.special"

local start = {}

local ENTRY = "^([%%%w]*)%+?(%d*)%^?([%%%w]*)$"

-- "LABEL+3^ROUTINE", "^ROUTINE", "ROUTINE" -> label, offset, routine; or nil.
function start.entry(text)
    local label, offset, name = text:match(ENTRY)
    if not label then return nil end
    if name == "" and not text:find "[+^]" then label, name = nil, label end
    if not name:find "^[%%%a]" then return nil end
    if label == "" then label = nil end
    return label, tonumber(offset), name
end

-- Everything that registers something for programs.
function start.load()
    for _, name in ipairs {"mumps.runtime.source", "mumps.runtime.view", "mumps.runtime.trigger",
        "mumps.runtime.message", "mumps.runtime.peek", "mumps.runtime.fence",
        "mumps.io.special", "mumps.data.tp"} do
        require(name)
    end
    local traced = special.from_environment("ydb_trace_gbl_name", "gtm_trace_gbl_name")
    if traced and traced ~= "" then require("mumps.tools.profile").from_environment(traced) end
end

local function at_terminal()
    local kind, TTY = require("mumps.host").caret_mumps__io_kind, 116
    return kind(0) == TTY and kind(1) == TTY
end

local function finish()
    local profile = package.loaded["mumps.tools.profile"]
    if profile then profile.at_end() end
    local device = package.loaded["mumps.io.device"]
    if device then device.finish() end
    local lines = package.loaded["mumps.tools.lines"]
    if lines then lines.close() end
    local xcall = package.loaded["mumps.bridge.xcall"]
    if xcall then xcall.finish() end
end

-- An error that nothing caught, to people. After SET $ETRAP="" the status is of that error, as fis-gtm's is.
local function report(e)
    local E, trap = require "mumps.runtime.error", require "mumps.runtime.trap"
    finish()
    io.stderr:write(E.wording(E.internal(e)), "\n")
    local untrapped = trap.etrap == "" and trap.ztrap == ""
    return untrapped and e.code and math.max(e.code % 256, 1) or 1
end

-- The exit status of HALT and ZHALT, or of a ZGOTO 0: under $ETRAP that is the status of the error in $ECODE.
function start.halted(e)
    local trap = require "mumps.runtime.trap"
    local failed = e.in_etrap and trap.ecode ~= "" and trap.zstatus:match "^%d+"
    if failed then return math.max(tonumber(failed) % 256, 1) end
    local code = e.code or 0
    return code ~= 0 and code % 256 == 0 and 255 or code
end

-- The exit status after call.run. An error whose trap has run is not told.
function start.finish(ok, e)
    if not ok and not (e.trapped and e.code) then return report(e) end
    finish()
    if not ok then return math.max((e.exits or e.code) % 256, 1) end
    if type(e) == "table" and e.control == "halt" then return start.halted(e) end
    local exits = require("mumps.runtime.trap").exits
    return exits and math.max(exits % 256, 1) or 0
end

function start.run(text, ...)
    start.load()
    local interrupt = require "mumps.runtime.interrupt"
    interrupt.start()
    if at_terminal() then interrupt.control_c(false) end
    special.put("ZCMDLINE", table.concat({...}, " "))
    special.put("ZMODE", "INTERACTIVE")
    require("mumps.runtime.level").first = table.concat({"-run", text, ...}, " ")
    local label, offset, name = start.entry(text)
    if not name then
        return report(require("mumps.runtime.error").object("RUNPARAMERR"))
    end
    return start.finish(require("mumps.runtime.call").run(label, offset, name))
end

-- A process that JOB made.
function start.job()
    start.load()
    require("mumps.runtime.interrupt").start()
    special.put("ZMODE", "OTHER")
    local task = require("mumps.io.system").job_main()
    local call = require "mumps.runtime.call"
    require("mumps.runtime.level").first = "-direct "
    if task.n and task.n > 0 and task.offset == 0 then
        return start.finish(call.run_with(task.label, task.routine, task.args, task.n))
    end
    return start.finish(call.run(task.label, task.offset, task.routine))
end

return start
