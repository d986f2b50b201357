-- $ZCONVERT: case, and numbers from decimal to hexadecimal digits and back.
local ffi = require "ffi"
local fail = require "mumps.values.fail"
local number = require "mumps.values.number"
local mode = require "mumps.values.mode"
local C = require "mumps.host"

local str = number.str
local K = {}

-- In M mode a word ends at a blank, and its first letter may come after other bytes.
local function title(s)
    return (s:lower():gsub("[^ ]+", function(word)
        return (word:gsub("%a", string.upper, 1))
    end))
end

local size = ffi.new("size_t[1]")
local change = C.caret_mumps__utf8_case

-- Characters that become more than one.
local upper = { ["\195\159"] = "SS", ["\239\172\128"] = "FF", ["\239\172\129"] = "FI",
    ["\239\172\130"] = "FL",
    ["\239\172\131"] = "FFI", ["\239\172\132"] = "FFL", ["\197\137"] = "\202\188N" }
local lower = { ["\196\176"] = "i\204\135" }

-- Two letters in one, of which a title has the first as a capital: the forms of DZ with caron, LJ, NJ, DZ.
local pairs_of_letters = { [0x1C4] = 0x1C5, [0x1C5] = 0x1C5, [0x1C6] = 0x1C5, [0x1C7] = 0x1C8,
    [0x1C8] = 0x1C8, [0x1C9] = 0x1C8, [0x1CA] = 0x1CB, [0x1CB] = 0x1CB, [0x1CC] = 0x1CB, [0x1F1] = 0x1F2,
    [0x1F2] = 0x1F2, [0x1F3] = 0x1F2 }
local TITLE = 2

local function recased(c, code, case)
    local special = (case == 0 and lower or upper)[c]
    if case == TITLE then
        local together = pairs_of_letters[code]
        if together then return require("mumps.values.utf8").encode(together) end
        special = special and special:gsub("^(%u)(%u+)$", function(a, rest) return a .. rest:lower() end)
        case = 1
    end
    return special or require("mumps.values.utf8").encode(change(code, case))
end

local SIGMA, FINAL_SIGMA = 0x3A3, "\207\130"

local function is_letter_at(s, at)
    local code = at < #s and C.caret_mumps__utf8_code(s, #s, at, size) or -1
    return code >= 0 and C.caret_mumps__utf8_letter(code)
end

-- Each character of a text in the case that case_of(whether a letter is before it) says.
local function each_character(s, case_of)
    local parts, at, inside = {}, 0, false
    require("mumps.values.utf8").check(s)
    while at < #s do
        local code = C.caret_mumps__utf8_code(s, #s, at, size)
        local n = tonumber(size[0])
        local c = s:sub(at + 1, at + n)
        local case = case_of(inside)
        local is_final = code == SIGMA and case == 0 and inside and not is_letter_at(s, at + n)
        parts[#parts + 1] = code < 0 and c or is_final and FINAL_SIGMA or recased(c, code, case)
        inside = code >= 0 and C.caret_mumps__utf8_letter(code)
        at = at + n
    end
    return table.concat(parts)
end

local function to(case)
    return function(s)
        return each_character(s, function() return case end)
    end
end

local cases = { U = string.upper, L = string.lower, T = title }
local utf8_cases = {
    U = to(1),
    L = to(0),
    T = function(s)
        return each_character(s, function(inside) return inside and 0 or TITLE end)
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
    local convert_case = (mode.utf8 and utf8_cases or cases)[first:upper()]
    if not convert_case then return fail("BADCASECODE", first) end
    return require("mumps.values.text").checked(convert_case(s))
end

return K
