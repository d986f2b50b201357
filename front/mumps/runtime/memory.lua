-- memory.lua - memory that is short: the error MEMORY, and what comes before it.
--
-- host/reserve.c has the design. Garbage goes first; only then, if what was set aside can't be had again, is
-- there an error.

local C = require "mumps.host"
local errors = require "mumps.runtime.error"

local M = {}

local ENOUGH = 0.75 -- of what there was: if garbage was the rest, the program goes on

local function object()
    return errors.object("MEMORY", ("%.0f"):format(C.caret_mumps__reserve_refused()), "0")
end

--- Before a line of M: a block was refused, and had from the reserve.
function M.relieve()
    C.caret_mumps__reserve_done()
    local before = collectgarbage "count"
    collectgarbage()
    if C.caret_mumps__reserve_regain() or collectgarbage "count" < before * ENOUGH then return end
    if not C.caret_mumps__reserve_first() then return end -- the trap of such an error goes on
    return errors.raise(object())
end

--- A block was refused for good, and Lua's error is on its way: that of M.
function M.out()
    C.caret_mumps__reserve_done()
    collectgarbage()
    if not C.caret_mumps__reserve_regain() then C.caret_mumps__reserve_last() end
    return object()
end

--- What tells whether this is a place for it, once memory is short.
function M.tell_at(f)
    debug.getregistry()["caret.mumps"].reserve(f)
end

--- jit.on(), unless memory is short.
function M.compile()
    if not C.caret_mumps__reserve_short() then jit.on() end
end

return M
