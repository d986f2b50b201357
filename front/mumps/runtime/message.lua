-- mumps.runtime.message: ZMESSAGE and $ZMESSAGE(): errors by their numbers.

local C = require "mumps.host"
local ffi = require "ffi"
local errors = require "mumps.host.errors"
local commands = require "mumps.runtime.commands"
local functions = require "mumps.runtime.functions"
local number = require "mumps.values.number"

local message = {}

local LETTERS = {[0] = "W", "S", "E", "I", "F"}
local FIRST = 2 ^ 27 -- M's own numbers are above, the system's are below
local SYSTEM = 1000000

-- The last three bits of a number are its severity, whatever the table has there.
local function entry(n)
    for low = 0, 7 do
        local name = errors.of(n - n % 8 + low)
        if name then return name, LETTERS[n % 8] or "E" end
    end
end

-- Mnemonic, letter and the text with its places for operands; of a number of the system's without these.
local function find(n)
    if n >= FIRST then
        local name, letter = entry(n)
        if name then return name, letter end
    elseif n > 0 and n < SYSTEM then
        return nil, "E", ("%%SYSTEM-E-ENO%d, %s"):format(n, ffi.string(C.strerror(n)))
    end
    return nil, "E", "%SYSTEM-E-UNKNOWN, Unknown system error !SL"
end

function functions.ZMESSAGE(v)
    local name, letter, text = find(number.int(v))
    if not name then return text end
    return ("%%YDB-%s-%s, %s"):format(letter, name, errors.entry(name).text)
end

-- What only tells something is written, and the program goes on.
local function tell(text)
    local device = require "mumps.io.device"
    if device.x() ~= 0 then device.newline() end
    device.stderr(text .. "\n")
end

function commands.ZMESSAGE(v, ...)
    local n, E = number.int(v), require "mumps.runtime.error"
    local name, letter, text = find(n)
    if not name then
        text = text:gsub("!SL", ("%d"):format(n))
        local ecode = "Z" .. n % 2 ^ 32 .. ","
        return E.raise {m = "ENO" .. n, code = n, severity = "E", text = text, ecode = ecode}
    end
    local operands = {...}
    for i = 1, select("#", ...) do operands[i] = number.str(operands[i]) end
    text = ("%%YDB-%s-%s, %s"):format(letter, name, errors.text(name, unpack(operands)))
    if letter == "I" or letter == "S" then return tell(text) end
    return E.raise {m = name, code = n, severity = letter, text = text}
end

function functions.ZYISSQLNULL()
    return 0
end

return message
