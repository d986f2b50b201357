-- collect.lua - $PRINCIPAL of a call from a program whose standard output is not M's, as a server: what is
-- written is collected for the answer, and READ finds the end at once.
local C = require "mumps.host"
local B = require "mumps.io.base"
local R = require "mumps.io.record"
local device = require "mumps.io.device"

local L = {}
local MOST = 64 * 1024 * 1024 -- bytes of an answer
local NO_SPACE = 28
local principal
local fields = {} -- of it, as it was opened

-- Bytes that the buffer had, or that are too many for it.
local function collect(d, text)
    d.size = d.size + #text
    if d.size > MOST then
        return B.fail_errno(d, NO_SPACE)
    end
    d.collected[#d.collected + 1] = text
end

local function open()
    local d = B.new("0", "RM", R)
    d.fd = C.caret_mumps__io_open("/dev/null", 1)
    d.device_name, d.what, d.principal, d.discard, d.plain = "0", "f", true, true, true
    d.stream, d.wrap, d.collect = true, false, collect
    for name, value in pairs(d) do fields[name] = value end
    return d
end

-- What USE has set does not outlive its call.
local function reset()
    for name in pairs(principal) do
        if fields[name] == nil then principal[name] = nil end
    end
    for name, value in pairs(fields) do principal[name] = value end
end


function L.begin()
    principal = principal or open()
    reset()
    principal.collected, principal.size = {}, 0
    R.set_limit(principal)
    device.take_principal(principal)
end

-- All that was written since then.
function L.finish()
    local text = table.concat(principal.collected)
    principal.collected = {}
    return text
end

return L
