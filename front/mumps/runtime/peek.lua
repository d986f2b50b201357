-- mumps.runtime.peek: $ZPEEK(): its arguments are looked at, but there are no structures of another database
-- system to look into.

local functions = require "mumps.runtime.functions"
local number = require "mumps.values.number"

local peek = {}

-- Kinds of structures: of a region, of replication, at an address.
local KINDS = {CSAREG = "region", FHREG = "region", GDRREG = "region", JBFREG = "region", JNLREG = "region",
    NLREG = "region", NLREPL = "replication", GLFREPL = "replication", GRL = "replication",
    GSL = "replication",
    JPC = "replication", JNLREPL = "replication", RIHREG = "replication", RPCREPL = "replication",
    RPL = "replication", UPLREPL = "replication", GUSR = "replication", PEEK = "peek base address"}

local function fail(...)
    return require("mumps.runtime.error").fail(...)
end

function functions.ZPEEK(what, offset, length, form)
    local kind, of = number.str(what):upper():match "^(%w+):?(.*)$"
    local known = KINDS[kind or ""]
    if not known then return fail("BADZPEEKARG", "mnemonic type") end
    if known == "replication" then return fail "ZPEEKNORPLINFO" end
    if known == "region" and of ~= "DEFAULT" then
        return fail("BADZPEEKARG", "mnemonic argument (region name)")
    end
    if known == "peek base address" and not of:find "^0X%x+$" then
        return fail("BADZPEEKARG", "mnemonic argument (peek base address)")
    end
    if number.int(offset) < 0 then return fail("BADZPEEKARG", "offset") end
    if number.int(length) < 1 then return fail("BADZPEEKARG", "length") end
    if form and not number.str(form):upper():find "^[CISTUXZ]$" then return fail("BADZPEEKARG", "format") end
    return fail "UNIMPLOP"
end

return peek
