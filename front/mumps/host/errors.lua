-- mumps.host.errors: the table of front/m/errors.def, by mnemonic and by number.
--
--     errors.get "DIVZERO"      150373210, "E", "Attempt to divide by zero"
--     errors.of(150373210)      "DIVZERO"
--     errors.text("LVUNDEF", "X(1)")      "Undefined local variable: X(1)"
--
-- Numbers are positive, as $ZSTATUS has them.

local ffi = require "ffi"
local C = require "mumps.host"

local errors = {}

local known = {} -- by name: those that were asked for; all of them would be a third of what a program has
local room = ffi.new "caret_mumps__error"

function errors.entry(name)
    local e = known[name]
    if e == nil and C.caret_mumps__error_named(name, room) then
        e = {number = math.abs(room.code), severity = string.char(room.severity)}
        e.text = ffi.string(room.text)
        known[name] = e
    end
    return e
end

function errors.get(name)
    local e = errors.entry(name)
    if e then return e.number, e.severity, e.text end
end

function errors.of(number)
    if number < 2 ^ 31 and C.caret_mumps__error_numbered(number, room) then return ffi.string(room.name) end
end

-- The text with its operands in the places of !AD, !UL, !16@XQ and so on; what is missing is empty.
function errors.text(name, ...)
    local e, given, i = errors.entry(name), {...}, 0
    if not e then return "" end
    local text = e.text:gsub("!%d*@?[ASUXZ]%u", function()
        i = i + 1
        return tostring(given[i] == nil and "" or given[i])
    end)
    return (text:gsub("!/", "\n"):gsub("!_", "\t"))
end

return errors
