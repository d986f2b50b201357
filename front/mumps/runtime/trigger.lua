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

-- $ZTRIGGER("SELECT" or "ITEM" or "FILE"[, text]): 1, and for SELECT nothing is listed.
function functions.ZTRIGGER(what, text)
    local word = number.str(what):upper()
    if word ~= "" and (("SELECT"):sub(1, #word) == word or word == "S") then return 1 end
    if word ~= "ITEM" and word ~= "FILE" then return fail("ZTRIGINVACT", 1) end
    local line = number.str(text or "")
    if line == "" or line:match "^%s*;" or line:match "^%-" then return 1 end
    return fail "UNIMPLOP"
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
