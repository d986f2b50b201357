-- error.lua - M errors as Lua error values, and what is said about them.
--
-- An M error is a table {m, code, text, place, pos, exception}: mnemonic, positive number, "%YDB-E-..." text,
-- and where. Throws that are not errors have no m, but control = "goto" | "halt" | "restart"; only call.lua
-- and data's transactions know what to do with them.  A Lua error (a text) is a fault of ours; it becomes an
-- ASSERT for the program, except for the end of the stack.

local M = {}

local find, format = string.find, string.format

local known

local function lookup(mnemonic, ...)
    known = known or require "mumps.host.errors"
    local code, severity = known.get(mnemonic)
    if not code then
        return 0, "E", mnemonic
    end
    return code, severity, known.text(mnemonic, ...)
end

-- The error of that name without a place.
function M.object(mnemonic, ...)
    local code, severity, text = lookup(mnemonic, ...)
    return {m = mnemonic, code = code, severity = severity, text = format("%%YDB-%s-%s, %s", severity,
        mnemonic, text)}
end

-- The device's EXCEPTION, set by io just before it fails.
M.device_exception = nil

local function where(e)
    if M.device_exception then
        e.exception, M.device_exception = M.device_exception, nil
    end
    local level = package.loaded["mumps.runtime.level"]
    if level and not e.place then
        level.locate(e)
    end
    return e
end

M.locate = where

function M.raise(e)
    return error(where(e), 0)
end

function M.fail(mnemonic, ...)
    return error(where(M.object(mnemonic, ...)), 0)
end

-- An error that the trap of its own level does not see.
function M.fail_level(mnemonic)
    local e = where(M.object(mnemonic))
    e.tried = e.at_level
    return error(e, 0)
end

-- An error of the system: errno, and what it says.
function M.fail_errno(number, text)
    local e = {m = "ENO" .. number, code = number, severity = "E", ecode = "Z" .. number .. ","}
    e.text = format("%%SYSTEM-E-ENO%d, %s", number, text)
    return error(where(e), 0)
end

function M.fail_with(tail, mnemonic, ...)
    local e = M.object(mnemonic, ...)
    e.text = e.text .. tail
    return error(where(e), 0)
end

function M.rethrow(e)
    return error(e, 0)
end

local Control = {}

-- A throw that is not an error: known by its metatable, as a table of a program in Lua may have such a field.
function M.control(e)
    return setmetatable(e, Control)
end

function M.is_control(e)
    return type(e) == "table" and getmetatable(e) == Control
end

-- An error of a text that is run on its own, as $ZINTERRUPT's: told as `name`, it counts as what it is.
-- Those of what the text has called, at levels above n, stay.
function M.as_of_text(e, name, n)
    e = M.internal(e)
    if not e.m or e.at_level ~= n then
        return e
    end
    local outer = M.object(name)
    e.ecode, e.code = M.ecode(e), outer.code
    e.text = outer.text .. "," .. string.gsub(e.text, "^%%", "-")
    return e
end

-- ---- Lua's own

local debugging = os.getenv("CARET_M_DEBUG")

local function tell(message)
    if debugging then
        io.stderr:write(tostring(message), "\n", debugging == "2" and debug.traceback() .. "\n" or "")
    end
end

M.tell = tell

-- What a thrown value is to M.
function M.internal(message)
    if type(message) == "table" then
        return message
    end
    local text = tostring(message)
    if find(text, "stack overflow", 1, true) or find(text, "error in error handling", 1, true) then
        return M.object("STACKCRIT")
    elseif find(text, "not enough memory", 1, true) then
        return require("mumps.runtime.memory").out()
    end
    tell(text)
    return M.object("GTMASSERT2", "", "0", "M runtime", "0", "internal")
end

function M.wording(e)
    local text = e.text or tostring(e)
    if e.place and e.place ~= "" then
        return text .. "\n\t\tAt M source location " .. e.place
    end
    return text
end

-- ---- $ECODE's codes of the standard

-- The mnemonics of each, which are those of fis-gtm: what ZMESSAGE of all of them gives.
local mnemonics = {
    [1] = "GVNAKED",
    [2] = "FNARGINC",
    [3] = "RANDARGNEG",
    [4] = "SELECTFALSE",
    [5] = "TEXTARG",
    [6] = "LVUNDEF",
    [7] = "GVUNDEF",
    [8] = "INVSVN",
    [9] = "DIVZERO",
    [10] = "PATCODE PATUPPERLIM",
    [11] = "FALLINTOFLST",
    [13] = "LABELMISSING LABELNOTFND LABELUNKNOWN OFFSETINV RTNLABOFF ZPRTLABNOTFND",
    [16] = "NOTEXTRINSIC QUITARGLST QUITARGUSE",
    [17] = "QUITARGREQD",
    [18] = "RDFLTOOSHORT",
    [19] = "MERGEDESC",
    [20] = "FMLLSTMISSING",
    [21] = "MULTFORMPARM",
    [25] = "LOADRUNNING",
    [26] = "ZGBLDIRACC",
    [27] = "TRESTNOT",
    [29] = "GBLNAME",
    [35] = "INVMNEMCSPC",
    [39] = "VAREXPECTED",
    [40] = "JOBACTREF",
    [41] = "TPLOCK",
    [42] = "TPQUIT",
    [44] = "TLVLZERO TRANSNOSTART",
    [57] = "MULTLAB",
    [58] = "ACTLSTTOOLONG ZCARGMSMTCH ZCCONMSMTCH",
    [62] = "DEVICEREADONLY",
    [72] = "RMNOBIGRECORD RMWIDTHPOS RMWIDTHTOOBIG",
    [75] = "MAXSTRLEN REC2BIG ZFILENMTOOLONG",
    [76] = "LISTENPASSBND",
    [79] = "SOCKETEXIST",
    [80] = "SOCKCLOSE SOCKINIT SOCKMAX SOCKWAIT",
    [81] = "OPENCONN SOCKACPT",
    [88] = "ROUTINEUNKNOWN",
    [90] = "NOCANONICNAME",
    [92] = "NUMOFLOW",
    [95] = "NEGFRACPWR",
    [101] = "INVECODEVAL",
}

local standard = {}
for n, names in pairs(mnemonics) do
    for name in string.gmatch(names, "%u[%u%d]*") do
        standard[name] = n
    end
end

-- The text that an error adds to $ECODE, which has a comma before and after.
function M.ecode(e)
    if e.ecode then
        return e.ecode
    end
    local n = standard[e.m]
    return (n and "M" .. n .. "," or "") .. "Z" .. e.code .. ","
end

return M
