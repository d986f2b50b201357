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

local by_name, by_number = {}, {}

local function fill()
    local e, i = ffi.new "caret_mumps__error", 0
    while C.caret_mumps__error_at(i, e) do
        local name = ffi.string(e.name)
        local number = math.abs(e.code)
        by_name[name] = {number = number, severity = string.char(e.severity), text = ffi.string(e.text)}
        by_number[number] = name
        i = i + 1
    end
end

function errors.entry(name)
    if not next(by_name) then fill() end
    return by_name[name]
end

function errors.get(name)
    local e = errors.entry(name)
    if e then return e.number, e.severity, e.text end
end

function errors.of(number)
    if not next(by_number) then fill() end
    return by_number[number]
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
