-- Direct mode: a prompt at which lines of M run, and the commands that lead to one: BREAK, ZCONTINUE, Ctrl-C.
--
-- A program that talks to one through pipes sets CARET_M_STOP: then SIGINT ends the line that runs, whatever
-- level it is at, and leaves the variables; one more, before the first was noticed, ends the process.
--
-- `caret m` begins at level 0.  A BREAK has a prompt at the level of the program: ZCONTINUE goes on after
-- it, QUIT with a value leaves an extrinsic, another one ends the line that was entered.  An error that no
-- trap took has a prompt too, while `caret m` has one itself ($ZTRAP is "B"): ZCONTINUE tries its line again.
-- Lines come from the terminal (lines.lua) or, without one, from the principal device.

local C = require "mumps.host"
local call = require "mumps.runtime.call"
local commands = require "mumps.runtime.commands"
local device = require "mumps.io.device"
local errors = require "mumps.runtime.error"
local interrupt = require "mumps.runtime.interrupt"
local level = require "mumps.runtime.level"
local lines = require "mumps.tools.lines"
local parse = require "mumps.compiler.parse"
local special = require "mumps.runtime.special"
local trap = require "mumps.runtime.trap"

local direct = {}

local L = level.L
local editing = false
local stops = (os.getenv "CARET_M_STOP" or "") ~= ""

-- ---------------------------------------------------------------- messages

-- On a line of its own, where it stands among what is written.
local function tell(text)
    device.reset_to_principal()
    if C.caret_mumps__io_same(1, 2) == 1 and tonumber(special.get "X") > 0 then device.newline() end
    device.flush()
    io.stderr:write(text, "\n")
    io.stderr:flush()
end

-- `typed`: of the line that was entered, or of what a trap got.
local function report(e, typed)
    local place = e.place or ""
    local text = e.text:gsub(",%%(%u+)%-(%u)%-", "\n%%%1-%2-") -- messages that belong to it
    if place == "" or typed then return tell(text) end
    return tell(text .. "\n\t\tAt M source location " .. place)
end

direct.report = report

-- A line that does not compile: what is wrong, the line, a mark.
local function report_line(text, e)
    local object = errors.object(e.mnemonic, unpack(e))
    local before = text:sub(1, math.max((e.col or 1) - 1, 0)):gsub("[^\t]", " ")
    tell(object.text .. "\n\t" .. text .. "\n\t" .. before .. "^-----")
end

-- ------------------------------------------------------------------- lines

local function read_plain(prompt)
    device.newline()
    device.write(prompt)
    device.flush()
    local ok, text = pcall(device.read)
    local over = text == "" and tonumber(special.get "ZEOF") == 1
    device.newline()
    if over then return nil end
    return ok and text or nil
end

local function read_edited(prompt)
    device.newline()
    device.flush()
    local text, why = lines.read(prompt)
    if why then return "" end
    if not text then
        device.newline()
        return nil
    end
    lines.remember(text)
    return text
end

-- The next line; nil: there are no more.
local function read()
    device.reset_to_principal()
    local prompt = tostring(special.get "ZPROMPT")
    return (editing and read_edited or read_plain)(prompt)
end

-- ------------------------------------------------------------------ running

-- Throws that a prompt ends by.
local function is_mine(e, name)
    return type(e) == "table" and e.control == name
end

local function run(text, nested)
    interrupt.drop()
    local ok, e = call.direct(text, nested)
    device.flush()
    if is_mine(e, "stop") then return report(errors.object "CTRLC") end
    if ok and not is_mine(e, "halt") then return end
    if type(e) ~= "table" or e.control then return e end
    report(e, e.trapped or e.untrapped or e.typed)
end

-- Lines until one leaves the prompt: what is to be thrown then.
local function prompt(nested)
    local outer, n = trap.prompt, L.n
    trap.prompt, level.prompts[n] = n, nested
    local result
    repeat
        interrupt.at_prompt(true)
        local text = read()
        interrupt.at_prompt(false)
        if not text then
            result = errors.control { control = "halt", code = 0 }
            break
        end
        local ast = parse.line(text)
        if ast.errors[1] then
            report_line(text, ast.errors[1])
        else
            result = run(text, nested)
            if not nested and is_mine(result, "continue") then result = nil end
        end
    until result
    trap.prompt, level.prompts[n] = outer, nil
    return result
end

-- A prompt at the level of now, by "BREAK", "zbreak", "step" or "error".  It returns by ZCONTINUE; all else
-- are throws.
local function nested(how)
    local current = device.current()
    local e = prompt(how)
    if is_mine(e, "continue") then return device.return_to(current) end
    error(e, 0)
end

local function history_path()
    local state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
    if state and state:sub(1, 1) == "/" then return state .. "/caret/m_history" end
    return home and home ~= "" and home .. "/.local/state/caret/m_history" or nil
end

local function open_editor()
    editing = lines.open(require("mumps.tools.complete").complete, history_path())
end

-- ---------------------------------------------------------------- commands

-- BREAK: an argument is run before the prompt.
function commands.BREAK(text)
    local e = errors.locate(errors.object "BREAK")
    if text ~= nil and tostring(text) ~= "" then call.xecute(tostring(text)) end
    tell(("%s\n\t\tAt M source location %s"):format(e.text, e.place ~= "" and e.place or level.outside))
    return nested "BREAK"
end

-- Ctrl-C while a line runs: the same prompt, or the line's end; or as USE has said it.
function direct.interrupted()
    if stops then error(errors.control { control = "stop" }, 0) end
    if device.takes_control_c() then return end
    open_editor()
    local current = device.current()
    report(errors.locate(errors.object "CTRLC"))
    nested "BREAK"
    device.return_to(current)
end

function commands.ZCONTINUE()
    if trap.prompt == L.n then error(errors.control { control = "continue" }, 0) end
end

-- An error without a trap: told, and a prompt where it was. ZCONTINUE tries its line again.
local function interactive(e)
    local again = trap.retry(e)
    return function()
        report(e)
        nested "error"
        return again()
    end
end

direct.nested = nested

-- --------------------------------------------------------------------- main

function direct.main()
    require("mumps.runtime.start").load()
    special.put("ZMODE", "INTERACTIVE")
    trap.interactive = interactive
    level.outside, level.first = "+1^GTM$DMOD", "-direct"
    L.kind[0] = 3 -- as an XECUTE: a transaction may stay open after a line
    interrupt.start()
    open_editor()
    if lines.terminal() or stops then interrupt.control_c(stops) end
    local ok, e = pcall(prompt, false)
    lines.close()
    if not ok then return require("mumps.runtime.start").finish(false, e) end -- as its output is lost
    device.finish()
    return require("mumps.runtime.start").halted(e)
end

return direct
