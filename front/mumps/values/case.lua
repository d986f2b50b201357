-- $ZCONVERT: case, and numbers from decimal to hexadecimal digits and back.
local ffi = require "ffi"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local mode = require "mumps.values.mode"
local C = require "mumps.host"

local str = number.str
local K = {}

local function title(s)
    return (s:lower():gsub("%a+", function(word)
        return word:sub(1, 1):upper() .. word:sub(2)
    end))
end

local size = ffi.new("size_t[1]")

-- Each character of a text through f(code, whether the one before was a letter).
local function each_character(s, f)
    local utf8 = require "mumps.values.utf8"
    local parts, at, inside = {}, 0, false
    while at < #s do
        local code = C.caret_mumps__utf8_code(s, #s, at, size)
        local n = tonumber(size[0])
        parts[#parts + 1] = code < 0 and s:sub(at + 1, at + n) or utf8.encode(f(code, inside))
        inside = code >= 0 and C.caret_mumps__utf8_case(code, 1) ~= C.caret_mumps__utf8_case(code, 0)
        at = at + n
    end
    return table.concat(parts)
end

local function to(case)
    return function(s)
        return each_character(s, function(code) return C.caret_mumps__utf8_case(code, case) end)
    end
end

local cases = { U = string.upper, L = string.lower, T = title }
local utf8_cases = {
    U = to(1),
    L = to(0),
    T = function(s)
        return each_character(s, function(code, inside)
            return C.caret_mumps__utf8_case(code, inside and 0 or 1)
        end)
    end,
}

-- 64 bits in each direction; a minus before hexadecimal digits makes nothing of them.
local function hex_to_dec(s)
    local digits = s:match("^0[xX](%x*)") or s:match("^%x*")
    digits = digits:gsub("^0+", "")
    if #digits > 16 then return fail("INVVALUE", s) end
    local n = 0ULL
    for i = 1, #digits do n = n * 16 + tonumber(digits:sub(i, i), 16) end
    return (tostring(n):gsub("ULL$", ""))
end

local function dec_to_hex(s)
    local sign, digits = s:match("^%s*([-+]?)(%d*)")
    local n = 0ULL
    for i = 1, #digits do n = n * 10 + tonumber(digits:sub(i, i)) end
    if sign == "-" then n = -n end
    local hex = require("bit").tohex(n, -16):gsub("^0+", "")
    if sign == "-" then
        local short = hex:gsub("^F+", "")
        hex = #short % 2 == 1 and "F" .. short or short
        if hex == "" or not hex:find("^[89A-F]") then hex = "FF" .. hex end
    end
    return hex == "" and "0" or hex
end

local encodings = { ["UTF-8"] = true, ["UTF-16"] = true, ["UTF-16LE"] = true, ["UTF-16BE"] = true }

local function convert(s, from, into)
    if from == "HEX" and into == "DEC" then return hex_to_dec(s) end
    if from == "DEC" and into == "HEX" then return dec_to_hex(s) end
    if from == into and (from == "HEX" or from == "DEC") then return s end
    if not encodings[from] then return fail("BADCHSET", from) end
    if not encodings[into] then return fail("BADCHSET", into) end
    if not mode.utf8 then return fail("INVFCN") end
    return require("mumps.values.utf8").recode(s, from, into)
end

function K.zconvert(s, first, second)
    s, first = str(s), str(first)
    if second then return convert(s, first:upper(), str(second):upper()) end
    local change = (mode.utf8 and utf8_cases or cases)[first:upper()]
    if not change then return fail("BADCASECODE", first) end
    return change(s)
end

return K
