-- normal.lua - values and names as other M databases write them in their keys: $ZATRANSFORM, $ZCOLLATE and
-- $VIEW("YGVN2GDS").  Such texts sort by bytes as M sorts the values.
--
-- A number: a byte of sign and exponent, then a byte for each two digits, which is one more than these have
-- as nibbles; below 0 all these are inverted and 255 ends them.  A string: 255 and its bytes, of which 0 and
-- 1 have a 1 before them and are one higher.  0 ends each; another one ends a name.  There is no other
-- collation than that of M, number 0.

local C = require "mumps.host"
local fail = require "mumps.values.fail"
local names = require "mumps.values.names"
local number = require "mumps.values.number"

local str, int = number.str, number.int
local char, byte, rep = string.char, string.byte, string.rep

local N = {}

local ZERO, STRING, EMPTY = 128, 255, 1
local ONE = 191 -- the first byte of numbers from 1 to 9.99

function N.collation(v)
    if int(v) ~= 0 then return fail("COLLATIONUNDEF", ("%.0f"):format(int(v) % 2 ^ 32)) end
end

-- Digits from the first that is not 0 to the last, and the place of the point after the first one.
local function digits_of(text)
    local whole, part = text:match "^(%d*)%.?(%d*)$"
    local point = #whole - 1
    local digits = whole .. part
    local zeros = #digits:match "^0*"
    return (digits:sub(zeros + 1):gsub("0+$", "")), point - zeros
end

local function number_key(text)
    if text == "0" then return char(ZERO) end
    local minus = byte(text) == 45
    local digits, exponent = digits_of(minus and text:sub(2) or text)
    if #digits % 2 == 1 then digits = digits .. "0" end
    local key = char(ONE + exponent) .. digits:gsub("%d%d", function(two)
        return char(byte(two) % 48 * 16 + byte(two, 2) % 48 + 1)
    end)
    if not minus then return key end
    return key:gsub(".", function(c) return char(255 - byte(c)) end) .. "\255"
end

local function string_key(text)
    return char(STRING) .. text:gsub("[%z\1]", function(c) return "\1" .. char(byte(c) + 1) end)
end

local function is_number(text)
    return #text > 0 and C.caret_mumps__is_number(text, #text) ~= 0
end

local function plain(s) -- .5 for 0.5, and no zeros at the end of a fraction
    if s:find(".", 1, true) then s = s:gsub("%.?0+$", "") end
    return (s:gsub("^0%.", "."))
end

local function number_of(key)
    local first = byte(key)
    if first == ZERO then return "0" end
    local minus = first < ZERO
    if minus then
        key = key:gsub("\255$", ""):gsub(".", function(c) return char(255 - byte(c)) end)
        first = byte(key)
    end
    local digits = key:sub(2):gsub(".", function(c) return ("%02x"):format((byte(c) - 1) % 256) end)
    local whole = first - ONE + 1
    if whole <= 0 then
        digits = "0." .. rep("0", -whole) .. digits
    elseif whole >= #digits then
        digits = digits .. rep("0", whole - #digits)
    else
        digits = digits:sub(1, whole) .. "." .. digits:sub(whole + 1)
    end
    return (minus and "-" or "") .. plain(digits)
end

-- The value of a key without the 0 that ends it.
local function value_of(key)
    local first = byte(key)
    if not first or first == EMPTY then return "" end
    if first ~= STRING then return number_of(key) end
    return (key:sub(2):gsub("\1(.)", function(c) return char((byte(c) - 1) % 256) end))
end

-- The character after the first one of a text, or before it; "" if there is none.
local function neighbour(text, step)
    local c = byte(text)
    c = c and c + step
    return c and c >= 0 and c <= 255 and char(c) or ""
end

-- $ZATRANSFORM(value, collation, 0 there | 1 back | 2 next | -2 previous character, as a text).
function N.zatransform(v, collation, way, as_text)
    local text, how = str(v), way and int(way) or 0
    N.collation(collation)
    if how == 2 or how == -2 then return neighbour(text, how / 2) end
    if text == "" then return "" end
    if how ~= 0 then return value_of((text:gsub("%z$", ""))) end
    if not (as_text and number.truth(as_text)) and is_number(text) then return number_key(text) .. "\0" end
    return string_key(text) .. "\0"
end

-- The key of a name with its subscripts.
function N.key_of(name)
    local parsed = names.parse(str(name))
    local parts = {(parsed.name:gsub("^%^", ""))}
    for i = 1, parsed.n do
        local text = str(parsed[i])
        parts[i + 1] = text == "" and char(EMPTY) or is_number(text) and number_key(text) or string_key(text)
    end
    return table.concat(parts, "\0") .. "\0\0"
end

-- The global that a key is of; "" for what is none.
function N.name_of(key)
    local name, rest = str(key):match "^(%%?%a%w*)%z(.*)%z$"
    if not name then return "" end
    local subs, n = {}, 0
    for one in rest:gmatch "([^%z]+)%z" do
        n = n + 1
        subs[n] = number.key(value_of(one))
    end
    return names.name("^" .. name, n, subs)
end

-- $ZCOLLATE(name, collation, 1 for the way back).
function N.zcollate(name, collation, back)
    N.collation(collation)
    if back and int(back) ~= 0 then return N.name_of(name) end
    return N.key_of(name)
end

return N
