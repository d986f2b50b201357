-- trigger.lua - triggers, of which there are none: what programs ask about them is answered so, and to add
-- one is an error.

local commands = require "mumps.runtime.commands"
local functions = require "mumps.runtime.functions"
local number = require "mumps.values.number"
local special = require "mumps.runtime.special"

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

-- Runs the triggers of a global; the reference has been made.
function commands.ZTRIGGER(ref)
    return require("mumps.data.ref").data(ref)
end

-- What is wrong with a definition is written, and the value is 0.
local function refused(...)
    local device = require "mumps.io.device"
    for _, line in ipairs {...} do
        device.write(line)
        device.newline()
    end
    return 0
end

local function item(line)
    if line == "" or line:match "^%s*;" or line == "-*" then return 1 end
    local sign, rest = line:match "^([+-])(.*)$"
    if not sign then return refused('Error : missing +/- at start of line: "' .. line .. '"') end
    if rest:sub(1, 1) ~= "^" then return refused("Error : Missing global name:", '"' .. rest .. '"') end
    return sign == "-" and 1 or fail "UNIMPLOP"
end

local function file(name)
    local f, why = io.open(name)
    if not f then return refused("Invalid file name: " .. why) end
    for line in f:lines() do
        if item(line) == 0 then return 0 end
    end
    return 1
end

-- $ZTRIGGER("SELECT" or "ITEM" or "FILE"[, text]): 1, and for SELECT nothing is listed.
function functions.ZTRIGGER(what, text)
    local word = number.str(what):upper()
    if word ~= "" and (("SELECT"):sub(1, #word) == word or word == "S") then return 1 end
    if word ~= "ITEM" and word ~= "FILE" then return fail("ZTRIGINVACT", 1) end
    if word == "FILE" then return file(number.str(text or "")) end
    return item(number.str(text or ""))
end

-- Could the global have been changed since a replication was rolled back?  Nothing tells that it was not.
function functions.ZQGBLMOD(ref)
    if ref.slot then return fail "VAREXPECTED" end
    require("mumps.data.ref").data(ref)
    return 1
end

for _, name in ipairs {"ZTSLATE", "ZTVALUE"} do
    special.writers[name] = function() return fail("SETINTRIGONLY", "$" .. name) end
end
